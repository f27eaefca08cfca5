//! From a schema to its graph.

use std::collections::{HashMap, VecDeque};

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::resolve::{Names, address};
use super::{Contains, Graph, Id, Node};

/// The keywords that look at a value itself, and that need no other keyword to be understood.
const LEAVES: [&str; 19] = [
    "type",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "contentMediaType",
];

struct Builder<'a> {
    draft: Draft,
    names: Names<'a>,
    ids: HashMap<usize, Id>,
    nodes: Vec<Node>,
    waiting: VecDeque<(Id, &'a Value)>,
}

impl Graph {
    /// The graph of `schema`, read by the rules of `draft`; and the node of each subschema, by the subschema's address.
    pub(in crate::schema) fn build(schema: &Value, draft: Draft) -> (Self, HashMap<usize, Id>) {
        let names = Names::of(schema, if draft == Draft::Draft4 { "id" } else { "$id" });
        let (ids, nodes, waiting) = Default::default();
        let mut builder = Builder { draft, names, ids, nodes, waiting };
        builder.intern(schema);
        // A list of what is to be done, not recursion: a chain of references may be as long as the schema.
        while let Some((id, value)) = builder.waiting.pop_front() {
            let node = builder.node(value);
            builder.nodes[id] = node;
        }
        (Self { nodes: builder.nodes, draft, resources: builder.names.resources() }, builder.ids)
    }
}

impl<'a> Builder<'a> {
    fn intern(&mut self, value: &'a Value) -> Id {
        if let Some(&id) = self.ids.get(&address(value)) {
            return id;
        }
        let id = self.nodes.len();
        self.ids.insert(address(value), id);
        self.nodes.push(Node::default());
        self.waiting.push_back((id, value));
        id
    }

    fn node(&mut self, value: &'a Value) -> Node {
        let mut node = Node::default();
        let Value::Object(map) = value else {
            node.constant = value.as_bool();
            return node;
        };
        self.references(&mut node, value, map);
        if self.draft < Draft::Draft201909 && map.contains_key("$ref") {
            // Until draft 7, what stands beside a reference is ignored.
            return node;
        }
        node.leaf = map.iter().filter(|(key, _)| LEAVES.contains(&key.as_str())).map(pair).collect();
        self.combined(&mut node, map);
        self.object(&mut node, map);
        self.list(&mut node, map);
        node
    }

    fn references(&mut self, node: &mut Node, value: &'a Value, map: &'a Map<String, Value>) {
        let home = self.names.home(value);
        let mut found = Vec::new();
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            found.push(self.names.find(reference, home));
        }
        if let Some(reference) = map.get("$dynamicRef").and_then(Value::as_str) {
            let targets = self.names.find_dynamic(reference, home);
            // With more than one target, which one is meant depends on the way that led here.
            node.opaque = targets.len() != 1;
            found.extend(targets.into_iter().map(Some));
        }
        if map.contains_key("$recursiveRef") {
            node.opaque = map.get("$recursiveAnchor").is_some();
            found.push(Some(home));
        }
        for target in found {
            match target {
                Some(target) => {
                    let id = self.intern(target);
                    node.references.push(id);
                }
                None => node.opaque = true,
            }
        }
    }

    fn combined(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        node.all_of = self.each(map, "allOf");
        node.any_of = self.each(map, "anyOf");
        node.one_of = self.each(map, "oneOf");
        node.not = self.one(map, "not");
        if self.draft >= Draft::Draft7 {
            node.condition = self.one(map, "if");
            if node.condition.is_some() {
                node.then = self.one(map, "then");
                node.otherwise = self.one(map, "else");
            }
        }
    }

    fn object(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        node.required = names(map.get("required"));
        node.properties = self.named(map, "properties");
        node.patterns = self.named(map, "patternProperties");
        node.additional = self.one(map, "additionalProperties");
        if self.draft >= Draft::Draft6 {
            node.names = self.one(map, "propertyNames");
        }
        if self.draft >= Draft::Draft201909 {
            node.unevaluated_properties = self.one(map, "unevaluatedProperties");
            node.dependent = self.named(map, "dependentSchemas");
            let lists = map.get("dependentRequired").and_then(Value::as_object).into_iter().flatten();
            node.dependent_required.extend(lists.map(|(name, list)| (name.clone(), names(Some(list)))));
        }
        for (name, value) in map.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
            if value.is_array() {
                node.dependent_required.push((name.clone(), names(Some(value))));
            } else {
                let id = self.intern(value);
                node.dependent.push((name.clone(), id));
            }
        }
    }

    fn list(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        if self.draft >= Draft::Draft202012 {
            node.front = self.each(map, "prefixItems");
            node.items = self.one(map, "items");
        } else if map.get("items").is_some_and(Value::is_array) {
            node.front = self.each(map, "items");
            node.items = self.one(map, "additionalItems");
        } else {
            node.items = self.one(map, "items");
        }
        let bound = |key| map.get(key).filter(|_| self.draft >= Draft::Draft201909).and_then(whole);
        let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains"));
        if self.draft >= Draft::Draft6
            && let Some(schema) = self.one(map, "contains")
        {
            node.contains = Some(Contains { schema, least, most });
        }
        if self.draft >= Draft::Draft201909 {
            node.unevaluated_items = self.one(map, "unevaluatedItems");
        }
    }

    fn one(&mut self, map: &'a Map<String, Value>, key: &str) -> Option<Id> {
        let value = map.get(key).filter(|value| value.is_object() || value.is_boolean())?;
        Some(self.intern(value))
    }

    fn each(&mut self, map: &'a Map<String, Value>, key: &str) -> Vec<Id> {
        let list = map.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().map(|value| self.intern(value)).collect()
    }

    fn named(&mut self, map: &'a Map<String, Value>, key: &str) -> Vec<(String, Id)> {
        let entries = map.get(key).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), self.intern(value))).collect()
    }
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn names(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A count, which older writers give as `2.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..9e15).contains(number))?;
        format!("{number:.0}").parse().ok()
    })
}

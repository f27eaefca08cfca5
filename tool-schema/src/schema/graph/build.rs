//! Building the graph of a schema, and resolving its references.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use serde_json::{Map, Value};

use super::{Contains, Gap, Graph, Id, Node};
use crate::schema::draft::{self, Draft};
use crate::schema::places::{self, Holds};
use crate::schema::{data, pointer};

struct Builder<'a> {
    draft: Draft,
    names: Names<'a>,
    ids: HashMap<usize, Id>,
    nodes: Vec<Node>,
    waiting: VecDeque<(Id, &'a Value)>,
}

impl Graph {
    /// Returns the graph of `schema` under the rules of `draft`, and the node of each subschema by its address.
    pub fn build(schema: &Value, draft: Draft) -> (Self, HashMap<usize, Id>) {
        let names = Names::of(schema, if draft == Draft::Four { "id" } else { "$id" });
        let (ids, nodes, waiting) = Default::default();
        let mut builder = Builder { draft, names, ids, nodes, waiting };
        builder.intern(schema);
        // A queue instead of recursion: a chain of references may be as long as the schema.
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
        if let Some((word, expected)) = draft::fault(value, self.draft) {
            // `draft::check` does not visit this value, because no schema is expected here. A reference leads to it.
            node.gap = Some(Gap::Malformed(format!("`{word}` must be {expected}")));
            return node;
        }
        let Value::Object(map) = value else {
            node.constant = value.as_bool();
            return node;
        };
        self.references(&mut node, value, map);
        if self.draft < Draft::Nineteen && map.contains_key("$ref") {
            // Up to draft 7, keywords beside a `$ref` are ignored.
            return node;
        }
        let is_leaf =
            |word: &str, value: &Value| places::holds(word, value) == Holds::Nothing && !places::is_annotation(word);
        let leaf = map.iter().filter(|(word, value)| is_leaf(word, value));
        node.leaf = leaf.map(|(word, value)| (word.clone(), value.clone())).collect();
        self.combined(&mut node, map);
        self.object(&mut node, map);
        self.list(&mut node, map);
        node
    }

    fn references(&mut self, node: &mut Node, value: &'a Value, map: &'a Map<String, Value>) {
        let home = self.names.home(value);
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = self.names.find(reference, home);
            self.refer(node, "$ref", reference, target);
        }
        if self.draft >= Draft::Twenty
            && let Some(reference) = map.get("$dynamicRef").and_then(Value::as_str)
        {
            let targets = self.names.find_dynamic(reference, home);
            // With several targets, the path of evaluation decides which one is meant.
            if targets.len() > 1 {
                node.gap = Some(Gap::Foreign("$dynamicRef"));
            }
            for target in targets {
                self.refer(node, "$dynamicRef", reference, target);
            }
        }
        if self.draft == Draft::Nineteen && map.contains_key("$recursiveRef") {
            // Without another resource around it, it refers to its own resource.
            let is_open = home.get("$recursiveAnchor") == Some(&Value::Bool(true)) && self.names.resources() > 0;
            self.refer(node, "$recursiveRef", "#", if is_open { Target::Foreign } else { Target::At(home) });
        }
    }

    fn refer(&mut self, node: &mut Node, keyword: &'static str, reference: &str, target: Target<'a>) {
        match target {
            Target::At(target) => {
                let id = self.intern(target);
                node.references.push(id);
            }
            Target::Nowhere => node.gap = Some(Gap::Nowhere(reference.to_owned())),
            Target::Foreign => node.gap = Some(Gap::Foreign(keyword)),
        }
    }

    fn combined(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        node.all_of = self.each(map, "allOf");
        node.any_of = self.each(map, "anyOf");
        node.one_of = self.each(map, "oneOf");
        node.not = self.one(map, "not");
        if self.draft >= Draft::Seven {
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
        if self.draft >= Draft::Six {
            node.names = self.one(map, "propertyNames");
        }
        if self.draft >= Draft::Nineteen {
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
        if self.draft >= Draft::Twenty {
            node.front = self.each(map, "prefixItems");
            node.items = self.one(map, "items");
        } else if map.get("items").is_some_and(Value::is_array) {
            node.front = self.each(map, "items");
            node.items = self.one(map, "additionalItems");
        } else {
            node.items = self.one(map, "items");
        }
        let bound = |key| map.get(key).filter(|_| self.draft >= Draft::Nineteen).and_then(data::count);
        let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains"));
        if self.draft >= Draft::Six
            && let Some(schema) = self.one(map, "contains")
        {
            node.contains = Some(Contains { schema, least, most });
        }
        if self.draft >= Draft::Nineteen {
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

fn names(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The named parts of a schema: resources by `$id`, and places by anchor.
///
/// The judge needs exact targets. Lowering uses [`pointer::resolve`], which guesses, and records a loss for an unknown
/// target.
#[derive(Debug)]
pub struct Names<'a> {
    /// The keyword that names a resource: `id` in draft 4, `$id` in later drafts.
    keyword: &'static str,
    root: &'a Value,
    /// The resource of each object outside the root's own resource, by the object's address.
    homes: HashMap<usize, &'a Value>,
    resources: HashMap<&'a str, Named<'a>>,
    /// Anchors by the address of their resource and by name.
    anchors: HashMap<(usize, &'a str), Named<'a>>,
    /// All places with a `$dynamicAnchor`, by its name.
    dynamic: HashMap<&'a str, Vec<&'a Value>>,
}

#[derive(Clone, Copy, Debug)]
enum Named<'a> {
    Once(&'a Value),
    /// Several values have the name, or data looks like a name.
    Several,
}

#[derive(Clone, Copy)]
pub enum Target<'a> {
    At(&'a Value),
    Nowhere,
    /// Comparing names is not enough to find the target.
    Foreign,
}

/// Returns the address of a value, which identifies it while its document stays borrowed.
pub fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> Names<'a> {
    pub fn of(root: &'a Value, keyword: &'static str) -> Self {
        let (homes, resources, anchors, dynamic) = Default::default();
        let mut names = Self { keyword, root, homes, resources, anchors, dynamic };
        names.collect(root, root);
        names
    }

    /// Returns the number of parts with an `$id`. A root without one does not count.
    pub fn resources(&self) -> usize {
        self.resources.len()
    }

    /// Returns the resource of `value`, which is the meaning of `#` inside it.
    pub fn home(&self, value: &Value) -> &'a Value {
        self.homes.get(&address(value)).copied().unwrap_or(self.root)
    }

    fn collect(&mut self, value: &'a Value, resource: &'a Value) {
        match value {
            Value::Object(map) => {
                let id = self.id(value);
                let resource = if id.is_some() { value } else { resource };
                if let Some(id) = id {
                    add_name(&mut self.resources, id.trim_end_matches('#'), value);
                }
                if address(resource) != address(self.root) {
                    self.homes.insert(address(value), resource);
                }
                let text = |key| map.get(key).and_then(Value::as_str);
                let old = text(self.keyword).and_then(|id| id.strip_prefix('#'));
                for anchor in [text("$anchor"), text("$dynamicAnchor"), old].into_iter().flatten() {
                    add_name(&mut self.anchors, (address(resource), anchor), value);
                }
                if let Some(anchor) = text("$dynamicAnchor") {
                    self.dynamic.entry(anchor).or_default().push(value);
                }
                map.values().for_each(|part| self.collect(part, resource));
            }
            Value::Array(items) => items.iter().for_each(|part| self.collect(part, resource)),
            _ => {}
        }
    }

    pub fn find(&self, reference: &str, resource: &'a Value) -> Target<'a> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match if base.is_empty() { Target::At(resource) } else { self.by_id(base, resource) } {
            Target::At(resource) => resource,
            other => return other,
        };
        let target = if fragment.is_empty() {
            Some(resource)
        } else if fragment.starts_with('/') {
            pointer::decode(fragment).and_then(|fragment| resource.pointer(&fragment))
        } else {
            match self.anchors.get(&(address(resource), fragment)) {
                Some(Named::Several) => return Target::Foreign,
                Some(Named::Once(target)) => Some(*target),
                None => None,
            }
        };
        target.filter(|target| places::is_schema(target)).map_or(Target::Nowhere, Target::At)
    }

    /// Returns every place that `$dynamicRef` can lead to.
    pub fn find_dynamic(&self, reference: &str, resource: &'a Value) -> Vec<Target<'a>> {
        match reference.strip_prefix('#').and_then(|anchor| self.dynamic.get(anchor)) {
            Some(anchored) => anchored.iter().map(|target| Target::At(target)).collect(),
            None => vec![self.find(reference, resource)],
        }
    }

    fn by_id(&self, base: &str, resource: &'a Value) -> Target<'a> {
        // A relative `$id` would have to be resolved first.
        let are_absolute = self.resources.keys().all(|id| id.contains("://"));
        let is_plain = base.contains("://") || !base.starts_with(['/', '.', '?']);
        let folder = self.id(resource).and_then(|id| id.rsplit_once('/'));
        let name = match folder {
            Some((folder, _)) if !base.contains(':') => format!("{folder}/{base}"),
            _ => base.to_owned(),
        };
        match self.resources.get(name.as_str()) {
            Some(Named::Once(found)) if are_absolute && is_plain => Target::At(found),
            None if self.resources.is_empty() && !base.contains("://json-schema.org/") => Target::Nowhere,
            _ => Target::Foreign,
        }
    }

    /// Returns the `$id` of `value`, if that makes it a separate resource.
    fn id<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let id = value.get(self.keyword)?.as_str()?;
        (!id.starts_with('#') && !id.is_empty()).then_some(id)
    }
}

fn add_name<'a, K: Eq + Hash>(names: &mut HashMap<K, Named<'a>>, name: K, value: &'a Value) {
    names.entry(name).and_modify(|named| *named = Named::Several).or_insert(Named::Once(value));
}

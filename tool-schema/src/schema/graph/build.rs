//! Building the graph of a schema, and resolving its references.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use serde_json::{Map, Value};

use super::{Contains, Gap, Graph, Node, NodeId};
use crate::schema::draft::Draft;
use crate::schema::keywords::find_fault;
use crate::schema::places::{self, Holds};
use crate::schema::{data, pointer};

struct Builder<'a> {
    draft: Draft,
    names: Names<'a>,
    ids: HashMap<usize, NodeId>,
    nodes: Vec<Node>,
    waiting: VecDeque<(NodeId, &'a Value)>,
}

impl Graph {
    /// Returns the graph of `schema` under the rules of `draft`, and the node of each subschema by its address.
    pub fn build(schema: &Value, draft: Draft) -> (Self, HashMap<usize, NodeId>) {
        let names = Names::of(schema, if draft == Draft::Four { "id" } else { "$id" });
        let (ids, nodes, waiting) = Default::default();
        let mut builder = Builder { draft, names, ids, nodes, waiting };
        builder.intern(schema);
        // A queue instead of recursion: a chain of references may be as long as the schema.
        while let Some((id, value)) = builder.waiting.pop_front() {
            let node = builder.build_node(value);
            builder.nodes[id] = node;
        }
        (Self { nodes: builder.nodes, draft, id_count: builder.names.id_count() }, builder.ids)
    }
}

impl<'a> Builder<'a> {
    fn intern(&mut self, value: &'a Value) -> NodeId {
        if let Some(&id) = self.ids.get(&address(value)) {
            return id;
        }
        let id = self.nodes.len();
        self.ids.insert(address(value), id);
        self.nodes.push(Node::default());
        self.waiting.push_back((id, value));
        id
    }

    fn build_node(&mut self, value: &'a Value) -> Node {
        let mut node = Node::default();
        if let Some((word, expected)) = find_fault(value, self.draft) {
            // `declared::check` does not visit this value, because no schema is expected here. A reference leads to it.
            node.gap = Some(Gap::NotASchema(format!("`{word}` must be {expected}")));
            return node;
        }
        let Value::Object(map) = value else {
            node.constant = value.as_bool();
            return node;
        };
        self.add_references(&mut node, value, map);
        if self.draft < Draft::Nineteen && map.contains_key("$ref") {
            // Up to draft 7, keywords beside a `$ref` are ignored.
            return node;
        }
        let is_leaf =
            |word: &str, value: &Value| places::holds(word, value) == Holds::Nothing && !places::is_annotation(word);
        let leaf = map.iter().filter(|(word, value)| is_leaf(word, value));
        node.leaf = leaf.map(|(word, value)| (word.clone(), value.clone())).collect();
        self.add_combinations(&mut node, map);
        self.add_object_keywords(&mut node, map);
        self.add_list_keywords(&mut node, map);
        node
    }

    fn add_references(&mut self, node: &mut Node, value: &'a Value, map: &'a Map<String, Value>) {
        let resource = self.names.resource(value);
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = self.names.find(reference, resource);
            self.add_reference(node, "$ref", reference, target);
        }
        if self.draft >= Draft::Twenty
            && let Some(reference) = map.get("$dynamicRef").and_then(Value::as_str)
        {
            let targets = self.names.find_dynamic(reference, resource);
            // Of several targets, the path of evaluation selects one.
            if targets.len() > 1 {
                node.gap = Some(Gap::Foreign("$dynamicRef"));
            }
            for target in targets {
                self.add_reference(node, "$dynamicRef", reference, target);
            }
        }
        if self.draft == Draft::Nineteen && map.contains_key("$recursiveRef") {
            // With `$recursiveAnchor`, the path of evaluation decides, unless there is only one resource.
            let is_open = resource.get("$recursiveAnchor") == Some(&Value::Bool(true)) && self.names.id_count() > 0;
            let target = if is_open { Target::Foreign } else { Target::At(resource) };
            self.add_reference(node, "$recursiveRef", "#", target);
        }
    }

    fn add_reference(&mut self, node: &mut Node, keyword: &'static str, reference: &str, target: Target<'a>) {
        match target {
            Target::At(target) => {
                let id = self.intern(target);
                node.references.push(id);
            }
            Target::Unresolved => node.gap = Some(Gap::UnresolvedReference(reference.to_owned())),
            Target::Foreign => node.gap = Some(Gap::Foreign(keyword)),
        }
    }

    fn add_combinations(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        node.all_of = self.intern_list(map, "allOf");
        node.any_of = self.intern_list(map, "anyOf");
        node.one_of = self.intern_list(map, "oneOf");
        node.not = self.intern_one(map, "not");
        if self.draft >= Draft::Seven {
            node.if_ = self.intern_one(map, "if");
            if node.if_.is_some() {
                node.then = self.intern_one(map, "then");
                node.else_ = self.intern_one(map, "else");
            }
        }
    }

    fn add_object_keywords(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        node.required = read_names(map.get("required"));
        node.properties = self.intern_named(map, "properties");
        node.pattern_properties = self.intern_named(map, "patternProperties");
        node.additional_properties = self.intern_one(map, "additionalProperties");
        if self.draft >= Draft::Six {
            node.property_names = self.intern_one(map, "propertyNames");
        }
        if self.draft >= Draft::Nineteen {
            node.unevaluated_properties = self.intern_one(map, "unevaluatedProperties");
            node.dependent_schemas = self.intern_named(map, "dependentSchemas");
            let lists = map.get("dependentRequired").and_then(Value::as_object).into_iter().flatten();
            node.dependent_required.extend(lists.map(|(name, list)| (name.clone(), read_names(Some(list)))));
        }
        for (name, value) in map.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
            if value.is_array() {
                node.dependent_required.push((name.clone(), read_names(Some(value))));
            } else {
                let id = self.intern(value);
                node.dependent_schemas.push((name.clone(), id));
            }
        }
    }

    fn add_list_keywords(&mut self, node: &mut Node, map: &'a Map<String, Value>) {
        if self.draft >= Draft::Twenty {
            node.prefix_items = self.intern_list(map, "prefixItems");
            node.items = self.intern_one(map, "items");
        } else if map.get("items").is_some_and(Value::is_array) {
            node.prefix_items = self.intern_list(map, "items");
            node.items = self.intern_one(map, "additionalItems");
        } else {
            node.items = self.intern_one(map, "items");
        }
        let bound = |key| map.get(key).filter(|_| self.draft >= Draft::Nineteen).and_then(data::to_count);
        let (min, max) = (bound("minContains").unwrap_or(1), bound("maxContains"));
        if self.draft >= Draft::Six
            && let Some(schema) = self.intern_one(map, "contains")
        {
            node.contains = Some(Contains { schema, min, max });
        }
        if self.draft >= Draft::Nineteen {
            node.unevaluated_items = self.intern_one(map, "unevaluatedItems");
        }
    }

    fn intern_one(&mut self, map: &'a Map<String, Value>, key: &str) -> Option<NodeId> {
        let value = map.get(key).filter(|value| value.is_object() || value.is_boolean())?;
        Some(self.intern(value))
    }

    fn intern_list(&mut self, map: &'a Map<String, Value>, key: &str) -> Vec<NodeId> {
        let list = map.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().map(|value| self.intern(value)).collect()
    }

    fn intern_named(&mut self, map: &'a Map<String, Value>, key: &str) -> Vec<(String, NodeId)> {
        let entries = map.get(key).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), self.intern(value))).collect()
    }
}

fn read_names(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The named parts of a schema: resources by `$id`, and places by anchor.
///
/// Evaluation needs exact targets. Lowering instead uses [`pointer::resolve`], which guesses. For an unknown target, lowering
/// records a loss.
#[derive(Debug)]
pub struct Names<'a> {
    /// The keyword that names a resource: `id` in draft 4, `$id` in later drafts.
    keyword: &'static str,
    root: &'a Value,
    /// The resource that encloses an object, by the object's address. An object without an entry belongs to the root.
    enclosing: HashMap<usize, &'a Value>,
    resources: HashMap<&'a str, Named<'a>>,
    /// Anchors by the address of their resource and by name.
    anchors: HashMap<(usize, &'a str), Named<'a>>,
    /// All schemas with a `$dynamicAnchor`, by the anchor's name.
    dynamic: HashMap<&'a str, Vec<&'a Value>>,
}

#[derive(Clone, Copy, Debug)]
enum Named<'a> {
    Once(&'a Value),
    /// Several values have the name. Some of them may be data that only looks like a schema.
    Several,
}

#[derive(Clone, Copy)]
pub enum Target<'a> {
    At(&'a Value),
    Unresolved,
    /// Comparing names is not enough to find the target.
    Foreign,
}

/// Returns the address of a value, which identifies it while its document stays borrowed.
pub fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> Names<'a> {
    pub fn of(root: &'a Value, keyword: &'static str) -> Self {
        let (enclosing, resources, anchors, dynamic) = Default::default();
        let mut names = Self { keyword, root, enclosing, resources, anchors, dynamic };
        names.collect(root, root);
        names
    }

    /// Returns the number of different `$id`s.
    pub fn id_count(&self) -> usize {
        self.resources.len()
    }

    /// Returns the resource that contains `value`. The reference `#` inside `value` leads to this resource.
    pub fn resource(&self, value: &Value) -> &'a Value {
        self.enclosing.get(&address(value)).copied().unwrap_or(self.root)
    }

    fn collect(&mut self, value: &'a Value, resource: &'a Value) {
        match value {
            Value::Object(map) => {
                let id = self.read_id(value);
                let resource = if id.is_some() { value } else { resource };
                if let Some(id) = id {
                    add_name(&mut self.resources, id.trim_end_matches('#'), value);
                }
                if address(resource) != address(self.root) {
                    self.enclosing.insert(address(value), resource);
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
        let resource = match if base.is_empty() { Target::At(resource) } else { self.find_by_id(base, resource) } {
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
        target.filter(|target| places::is_schema(target)).map_or(Target::Unresolved, Target::At)
    }

    /// Returns every target that the `$dynamicRef` `reference` can lead to.
    pub fn find_dynamic(&self, reference: &str, resource: &'a Value) -> Vec<Target<'a>> {
        match reference.strip_prefix('#').and_then(|anchor| self.dynamic.get(anchor)) {
            Some(anchored) => anchored.iter().map(|target| Target::At(target)).collect(),
            None => vec![self.find(reference, resource)],
        }
    }

    fn find_by_id(&self, base: &str, resource: &'a Value) -> Target<'a> {
        // Without resolving, only absolute `$id`s can be compared.
        let are_absolute = self.resources.keys().all(|id| id.contains("://"));
        let is_plain = base.contains("://") || !base.starts_with(['/', '.', '?']);
        let folder = self.read_id(resource).and_then(|id| id.rsplit_once('/'));
        let name = match folder {
            Some((folder, _)) if !base.contains(':') => format!("{folder}/{base}"),
            _ => base.to_owned(),
        };
        match self.resources.get(name.as_str()) {
            Some(Named::Once(found)) if are_absolute && is_plain => Target::At(found),
            None if self.resources.is_empty() && !base.contains("://json-schema.org/") => Target::Unresolved,
            _ => Target::Foreign,
        }
    }

    /// Returns the `$id` of `value`, if the `$id` makes `value` a separate resource.
    fn read_id<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let id = value.get(self.keyword)?.as_str()?;
        (!id.starts_with('#') && !id.is_empty()).then_some(id)
    }
}

fn add_name<'a, K: Eq + Hash>(names: &mut HashMap<K, Named<'a>>, name: K, value: &'a Value) {
    names.entry(name).and_modify(|named| *named = Named::Several).or_insert(Named::Once(value));
}

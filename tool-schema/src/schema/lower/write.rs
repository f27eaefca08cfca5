//! Writing of shapes as schemas under a provider's rules. Words in descriptions replace keywords that the provider rejects.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    descriptions::separate_descriptions,
    rules::Rules,
    unused_name,
    words::{describe, describe_default, describe_examples, describe_values},
};
use crate::schema::{
    Severity,
    data::Kind,
    from_schemars::make_nullable,
    losses::Losses,
    pointer,
    raise::accepts_null,
    shape::{Array, At, Form, Notes, Object, Property, Rest, Scalar, Shape, find_count, unite},
};

/// Returns the schema of `shape`, with the definitions that it needs.
pub fn write(shape: &Shape, targets: &BTreeMap<At, Shape>, rules: &Rules, losses: &mut Losses) -> Value {
    let mut writer =
        Writer { rules, targets, losses, names: HashMap::new(), used_names: HashSet::new(), order: Vec::new() };
    let mut root = writer.write_node(shape, true);
    let mut definitions = Map::new();
    let mut next = 0;
    while let Some(at) = writer.order.get(next).cloned() {
        next += 1;
        if let Some(target) = targets.get(&at) {
            let node = writer.write_node(target, false);
            definitions.insert(writer.names[&at].clone(), Value::Object(node));
        }
    }
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
        if rules.portable {
            separate_descriptions(&mut root);
        }
    }
    Value::Object(root)
}

/// The maximum length of the name of a definition, in bytes.
const MAX_NAME: usize = 60;

pub struct Writer<'a> {
    pub rules: &'a Rules,
    targets: &'a BTreeMap<At, Shape>,
    losses: &'a mut Losses,
    names: HashMap<At, String>,
    used_names: HashSet<String>,
    order: Vec<At>,
}

impl Writer<'_> {
    fn write_node(&mut self, shape: &Shape, is_root: bool) -> Node {
        let mut hints = shape.notes.hints.clone();
        let mut node = match &shape.form {
            Form::Ref(at) => {
                let mut node = self.write_reference(at);
                self.describe_values(&shape.notes, &mut hints);
                if shape.notes.title.is_some() {
                    let note = "a reference has no title beside it: left out";
                    self.losses.add(&shape.at, "title", Severity::Annotation, note);
                }
                if self.rules.portable {
                    if let Some(description) = describe(shape.notes.description.as_deref(), &hints) {
                        node.insert("description".to_owned(), description.into());
                    }
                } else if shape.notes.description.is_some() || !hints.is_empty() {
                    let note = "a recursive reference has no siblings: its description was left out";
                    self.losses.add(&shape.at, "description", Severity::Annotation, note);
                }
                return node;
            }
            Form::Any => self.write_any(&shape.at, &mut hints),
            Form::Never if self.rules.portable => {
                self.losses.add(&shape.at, "", Severity::Weakened, "no value is valid: replaced by any value");
                any_value()
            }
            Form::Never => {
                self.lose_to_placeholder(&shape.at, "", "no value is valid: replaced by null");
                new_node("null")
            }
            Form::Cut(kind) => self.write_cut(*kind, &shape.at),
            Form::Scalar(scalar) => self.write_scalar(scalar, &shape.at, &mut hints),
            Form::Object(object) => self.write_object(object, &shape.at, is_root, &mut hints),
            Form::Array(array) => self.write_array(array, &shape.at, &mut hints),
            Form::Union(members) => self.write_union(members, &shape.at, &mut hints),
        };
        self.annotate(&mut node, &shape.notes, hints);
        node
    }

    /// Records the loss of a part that a placeholder replaces.
    fn lose_to_placeholder(&mut self, at: &At, word: &str, note: &str) {
        self.losses.add(at, word, self.rules.placeholder_severity(), note);
    }

    /// Records the loss of a keyword that the provider does not accept.
    pub fn lose_keyword(&mut self, at: &str, word: &str) {
        self.losses.add(at, word, Severity::Weakened, format!("{} does not accept it", self.rules.reader));
    }

    fn annotate(&mut self, node: &mut Node, notes: &Notes, mut hints: Vec<String>) {
        match &notes.default {
            Some((_, value)) if self.rules.default => {
                node.insert("default".to_owned(), value.clone());
                self.describe_values(&Notes { default: None, ..notes.clone() }, &mut hints);
            }
            _ => self.describe_values(notes, &mut hints),
        }
        let own = node.get("description").and_then(Value::as_str).map(str::to_owned);
        let description = notes.description.clone().or(own);
        if let Some(text) = describe(description.as_deref(), &hints) {
            node.shift_insert(usize::from(node.contains_key("type")), "description".to_owned(), text.into());
        }
        if let Some(title) = &notes.title {
            node.shift_insert(0, "title".to_owned(), title.as_str().into());
        }
    }

    /// Adds the default and the examples to `hints`.
    fn describe_values(&mut self, notes: &Notes, hints: &mut Vec<String>) {
        let moved = "moved to the description";
        if let Some((at, value)) = &notes.default {
            hints.extend(describe_default(value));
            self.losses.add(at, "default", Severity::Annotation, moved);
        }
        if let Some((at, value)) = &notes.examples {
            hints.extend(describe_examples(value));
            self.losses.add(at, "examples", Severity::Annotation, moved);
        }
    }

    fn write_reference(&mut self, at: &At) -> Node {
        if !self.names.contains_key(at) {
            let mut plain = pointer::last(at).replace(|one: char| !one.is_ascii_alphanumeric(), "_");
            plain.truncate(MAX_NAME);
            let plain = if plain.is_empty() { "Whole" } else { &plain };
            let name = unused_name(plain, |name| self.used_names.contains(name));
            self.used_names.insert(name.clone());
            self.names.insert(at.clone(), name);
            self.order.push(at.clone());
        }
        let mut node = Node::new();
        node.insert("$ref".to_owned(), format!("#/$defs/{}", self.names[at]).into());
        node
    }

    fn write_any(&mut self, at: &At, hints: &mut Vec<String>) -> Node {
        if self.rules.portable {
            let note = "any value is valid: lists are at most three levels deep";
            self.losses.add(at, "type", Severity::Narrowed, note);
            return any_value();
        }
        self.lose_to_placeholder(at, "type", "any value is valid, which cannot be expressed");
        if self.rules.unions {
            let mut node = Node::new();
            let kinds = ["string", "number", "boolean"];
            node.insert("anyOf".to_owned(), kinds.map(|kind| json!({"type": kind})).to_vec().into());
            add_null(node)
        } else {
            hints.push("any JSON value".to_owned());
            new_node("string")
        }
    }

    fn write_cut(&mut self, kind: Kind, at: &At) -> Node {
        if self.rules.portable {
            return any_value();
        }
        if self.rules.strict {
            self.lose_to_placeholder(at, "$ref", "the schema was cut here");
        }
        let mut node = new_node(kind.name());
        match kind {
            Kind::Object => self.close(&mut node, Vec::new(), Vec::new()),
            Kind::Array => drop(node.insert("items".to_owned(), json!({"type": "string"}))),
            _ => {}
        }
        node
    }

    fn write_union(&mut self, members: &[Shape], at: &At, hints: &mut Vec<String>) -> Node {
        let (nulls, others): (Vec<&Shape>, Vec<&Shape>) = members.iter().partition(|member| member.is_null());
        let node = if let [only] = others.as_slice() {
            self.write_node(only, false)
        } else if self.rules.unions {
            let mut nodes: Vec<Value> = Vec::new();
            // Compare texts: comparing ten thousand values pairwise takes minutes.
            let mut seen = HashSet::new();
            for member in others {
                let node = Value::Object(self.write_node(member, false));
                if seen.insert(node.to_string()) {
                    nodes.push(node);
                }
            }
            let mut node = Node::new();
            if nodes.len() == 1 {
                node = nodes.remove(0).as_object().cloned().unwrap_or_default();
            } else {
                node.insert("anyOf".to_owned(), nodes.into());
            }
            node
        } else {
            let mut united = unite(at, others.into_iter().cloned().collect(), self.losses);
            hints.append(&mut united.notes.hints);
            self.write_node(&united, false)
        };
        if nulls.is_empty() { node } else { self.add_null(node) }
    }

    /// Makes `node` nullable.
    fn add_null(&self, node: Node) -> Node {
        if self.rules.portable { add_null_member(node) } else { add_null(node) }
    }
}

impl Writer<'_> {
    fn write_object(&mut self, object: &Object, at: &At, is_root: bool, hints: &mut Vec<String>) -> Node {
        let mut node = new_node("object");
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for property in &object.properties {
            if property.required || self.rules.all_required {
                required.push(Value::from(property.name.as_str()));
            }
            properties.push((property.name.clone(), Value::Object(self.write_property(property))));
        }
        // Decoders that follow a grammar write properties in a fixed order. Gemini has an order of its own.
        if !self.rules.ordering {
            let needed: HashSet<&str> = required.iter().filter_map(Value::as_str).collect();
            properties.sort_by_key(|(name, _)| !needed.contains(name.as_str()));
        }
        if self.rules.closed {
            self.lose_rest(object, at, is_root);
            self.close(&mut node, properties, required);
        } else {
            let ordering: Vec<Value> = properties.iter().map(|(name, _)| name.as_str().into()).collect();
            let is_empty = self.rules.portable && (is_root || object.rest == Rest::None);
            if !properties.is_empty() || is_empty {
                node.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
            }
            if !required.is_empty() {
                node.insert("required".to_owned(), required.into());
            }
            if self.rules.ordering {
                node.insert("propertyOrdering".to_owned(), ordering.into());
            }
            match &object.rest {
                Rest::Unspecified => {}
                Rest::None => drop(node.insert("additionalProperties".to_owned(), false.into())),
                Rest::Open => drop(node.insert("additionalProperties".to_owned(), true.into())),
                Rest::Of(shape) => {
                    let rest = self.write_node(shape, false);
                    node.insert("additionalProperties".to_owned(), Value::Object(rest));
                }
            }
        }
        self.write_limits(&mut node, Kind::Object, &object.limits, hints);
        node
    }

    fn write_property(&mut self, property: &Property) -> Node {
        if self.rules.leaves_out_null
            && !property.required
            && let Some(shape) = without_null(&property.shape)
        {
            return self.write_node(&shape, false);
        }
        let node = self.write_node(&property.shape, false);
        let optional = self.rules.all_required && !property.required;
        if optional && has_null_example(&property.shape) {
            let note = "null differs from leaving the property out, which is impossible here";
            self.losses.add(&property.shape.at, "required", Severity::Inexpressible, note);
        }
        if optional && !accepts_null(&property.shape, self.targets) { self.add_null(node) } else { node }
    }

    fn close(&mut self, node: &mut Node, properties: Vec<(String, Value)>, required: Vec<Value>) {
        if self.rules.closed {
            node.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
            node.insert("required".to_owned(), required.into());
            node.insert("additionalProperties".to_owned(), false.into());
        } else if self.rules.ordering {
            node.insert("propertyOrdering".to_owned(), json!([]));
        }
    }

    /// Records the loss of the rule about additional properties, which a closed object cannot have.
    fn lose_rest(&mut self, object: &Object, at: &At, is_root: bool) {
        let named = !object.properties.is_empty();
        let free = match object.rest {
            Rest::None => return,
            // The author meant only the named properties, or a tool without arguments.
            Rest::Unspecified if named || object.declared || is_root => return,
            Rest::Unspecified => "properties",
            Rest::Open | Rest::Of(_) => "additionalProperties",
        };
        if named {
            self.losses.add(at, free, Severity::Narrowed, "only the named properties can be sent");
        } else {
            self.lose_to_placeholder(at, free, "a map with free keys cannot be expressed: replaced by an empty object");
        }
    }
}

impl Writer<'_> {
    fn write_array(&mut self, array: &Array, at: &At, hints: &mut Vec<String>) -> Node {
        let mut node = new_node("array");
        let never = array.items.form == Form::Never;
        if self.rules.portable && !array.prefix.is_empty() {
            self.write_tuple(&mut node, array, at, hints);
        } else if self.rules.tuples && !array.prefix.is_empty() {
            let prefix: Vec<Value> =
                array.prefix.iter().map(|item| Value::Object(self.write_node(item, false))).collect();
            node.insert("prefixItems".to_owned(), prefix.into());
            if !never && array.items.form != Form::Any {
                let items = self.write_node(&array.items, false);
                node.insert("items".to_owned(), Value::Object(items));
            }
        } else {
            let mut members = array.prefix.clone();
            let open = array.items.form == Form::Any && !members.is_empty();
            if !never && !open {
                members.push((*array.items).clone());
            }
            if !array.prefix.is_empty() {
                hints.push(format!("in order: {}", array.prefix.iter().map(kind_name).collect::<Vec<_>>().join(", ")));
                self.lose_keyword(at, "prefixItems");
                if open && !is_full(array) {
                    self.losses.add(at, "items", Severity::Narrowed, "further items are like the first ones");
                }
            }
            let items = if members.is_empty() {
                Shape::new(at.clone(), Form::Scalar(Scalar { kind: Kind::Null, values: None, limits: Vec::new() }))
            } else {
                Shape::union(at, members)
            };
            node.insert("items".to_owned(), Value::Object(self.write_node(&items, false)));
        }
        self.write_limits(&mut node, Kind::Array, &array.limits, hints);
        if never && !is_full(array) {
            if self.rules.portable {
                node.insert("maxItems".to_owned(), array.prefix.len().into());
                return node;
            }
            self.lose_keyword(at, "items");
            if self.rules.limits.contains(&"maxItems") {
                node.insert("maxItems".to_owned(), array.prefix.len().into());
            }
        }
        node
    }
}

impl Writer<'_> {
    /// Writes the items of a list whose first items have own schemas.
    ///
    /// Equal ones become `items`. OpenAI refuses a list without `items`, and llama.cpp reads nothing else beside it. So others
    /// become `prefixItems`, and `items` accepts each of them.
    fn write_tuple(&mut self, node: &mut Node, array: &Array, at: &At, hints: &mut Vec<String>) {
        let write = |writer: &mut Self, shape: &Shape| Value::Object(writer.write_node(shape, false));
        let is_closed = array.items.form == Form::Never || is_full(array);
        let nodes: Vec<Value> = array.prefix.iter().map(|item| write(self, item)).collect();
        let mut bare: Vec<Value> = Vec::new();
        let mut seen = HashSet::new();
        let rest = (!is_closed).then(|| write(self, &array.items));
        for mut one in nodes.iter().cloned().chain(rest) {
            if let Some(one) = one.as_object_mut() {
                for word in ["title", "description", "default"] {
                    one.shift_remove(word);
                }
            }
            if seen.insert(one.to_string()) {
                bare.push(one);
            }
        }
        if !is_closed {
            self.lose_keyword(at, "prefixItems");
        } else if bare.len() > 1 {
            node.insert("prefixItems".to_owned(), nodes.clone().into());
        } else if nodes.iter().any(|one| *one != nodes[0]) {
            let texts = array.prefix.iter().map(|item| item.notes.description.as_deref().unwrap_or("any"));
            hints.push(format!("in order: {}", texts.collect::<Vec<_>>().join("; ")));
        }
        let any = Value::Object(any_value());
        let items = match bare.as_slice() {
            [_] if nodes.iter().all(|one| *one == nodes[0]) => nodes[0].clone(),
            [only] => only.clone(),
            all if all.contains(&any) => any,
            all => json!({ "anyOf": flatten_unions(all) }),
        };
        node.insert("items".to_owned(), items);
    }
}

/// Returns `members`, with the members of a union in place of the union.
fn flatten_unions(members: &[Value]) -> Vec<Value> {
    let mut flat: Vec<Value> = Vec::new();
    for member in members {
        let inner = member.get("anyOf").and_then(Value::as_array).map_or(std::slice::from_ref(member), Vec::as_slice);
        for one in inner {
            if !flat.contains(one) {
                flat.push(one.clone());
            }
        }
    }
    flat
}

/// Returns whether `null` is among the examples. So it means something else than leaving the property out.
fn has_null_example(shape: &Shape) -> bool {
    let examples = shape.notes.examples.as_ref().and_then(|(_, examples)| examples.as_array());
    examples.is_some_and(|examples| examples.contains(&Value::Null))
}

/// Returns the shape of an optional property without `null`, or `None` if `null` stays. With a default of another value, or an
/// example of `null`, it means something else than leaving the property out.
fn without_null(shape: &Shape) -> Option<Shape> {
    let Form::Union(members) = &shape.form else { return None };
    let is_null = shape.notes.default.as_ref().is_none_or(|(_, value)| value.is_null()) && !has_null_example(shape);
    if !is_null || !members.iter().any(Shape::is_null) {
        return None;
    }
    let others = members.iter().filter(|member| !member.is_null()).cloned().collect();
    let mut notes = shape.notes.clone();
    notes.default = None;
    let union = Shape::union(&shape.at, others);
    notes.hints.extend(union.notes.hints);
    notes.title = notes.title.or(union.notes.title);
    notes.description = notes.description.or(union.notes.description);
    Some(Shape { at: shape.at.clone(), notes, form: union.form })
}

fn kind_name(shape: &Shape) -> String {
    match &shape.form {
        Form::Scalar(scalar) => scalar.kind.name().to_owned(),
        Form::Object(_) => "object".to_owned(),
        Form::Array(_) => "array".to_owned(),
        Form::Cut(kind) => kind.name().to_owned(),
        Form::Ref(at) => pointer::last(at),
        Form::Union(members) => members.iter().map(kind_name).collect::<Vec<_>>().join(" or "),
        Form::Any | Form::Never => "anything".to_owned(),
    }
}

/// Returns whether an array can have no items after those of its prefix.
fn is_full(array: &Array) -> bool {
    let max = find_count(&array.limits, "maxItems");
    max.is_some_and(|max| usize::try_from(max).is_ok_and(|max| max <= array.prefix.len()))
}

impl Writer<'_> {
    fn write_scalar(&mut self, scalar: &Scalar, at: &At, hints: &mut Vec<String>) -> Node {
        let mut node = new_node(scalar.kind.name());
        match &scalar.values {
            Some(values) if (self.rules.lists)(scalar.kind) => match values.as_slice() {
                [only] if self.rules.constant => drop(node.insert("const".to_owned(), only.clone())),
                _ => drop(node.insert("enum".to_owned(), Value::Array(values.clone()))),
            },
            Some(values) => {
                hints.extend(describe_values(values));
                self.lose_keyword(at, "enum");
            }
            None => {}
        }
        self.write_limits(&mut node, scalar.kind, &scalar.limits, hints);
        node
    }
}

pub type Node = Map<String, Value>;

/// Returns a schema with the type `kind`.
fn new_node(kind: &str) -> Node {
    let mut node = Node::new();
    node.insert("type".to_owned(), kind.into());
    node
}

/// Makes `node` nullable. A type becomes a list with null, because not every provider accepts `{"type": "null"}` alone. OpenAI
/// documents `{"type": "null"}` beside a reference.
fn add_null(mut node: Node) -> Node {
    if let Some(Value::Array(members)) = node.get_mut("anyOf") {
        join_null(members);
        return node;
    }
    let Some(Value::String(kind)) = node.get("type") else {
        if node.get("type").is_some_and(Value::is_array) {
            return node;
        }
        let mut outer = Node::new();
        if let Some(description) = node.shift_remove("description") {
            outer.insert("description".to_owned(), description);
        }
        outer.insert("anyOf".to_owned(), json!([node, {"type": "null"}]));
        return outer;
    };
    if kind != "null" {
        let kind = kind.clone();
        make_nullable(&mut node, &kind);
    }
    node
}

/// Makes `node` nullable. Null is a member of a union, because gateways to Gemini refuse lists of types, and outlines-core loses a
/// null beside `properties`.
fn add_null_member(mut node: Node) -> Node {
    if node.get("type").is_some_and(|kind| kind.is_array() || kind == "null") {
        return node;
    }
    let null_schema = Value::Object(new_node("null"));
    if let Some(Value::Array(members)) = node.get_mut("anyOf") {
        if !members.contains(&null_schema) {
            members.push(null_schema);
        }
        return node;
    }
    let mut outer = Node::new();
    for word in ["title", "description", "default"] {
        outer.extend(node.shift_remove(word).map(|text| (word.to_owned(), text)));
    }
    outer.insert("anyOf".to_owned(), json!([node, null_schema]));
    outer
}

/// Returns a schema that accepts every value, but lists at most three levels deep.
///
/// Decoders that follow a grammar read `{}` as an object and refuse `true`, and Moonshot refuses a schema without `type`. OpenAI
/// refuses `array` without `items`, and xgrammar closes an object beside `items` that does not say that it is open.
fn any_value() -> Node {
    let kinds = ["string", "number", "boolean", "array", "object", "null"];
    let flat: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "array").collect();
    let mut node = json!({"type": flat, "additionalProperties": true});
    for _ in 0..2 {
        node = json!({"type": kinds, "items": node, "additionalProperties": true});
    }
    node.as_object().cloned().unwrap_or_default()
}

/// Makes a union nullable: a member with a type becomes nullable, or null becomes a member.
fn join_null(members: &mut Vec<Value>) {
    let kind = |member: &Value| member.get("type").and_then(Value::as_str).map(str::to_owned);
    if members.iter().any(|member| member.get("type").is_some_and(|kind| kind == "null" || kind.is_array())) {
        return;
    }
    let is_scalar = |member: &Value| kind(member).is_some_and(|kind| kind != "object" && kind != "array");
    let place = members.iter().position(is_scalar).or_else(|| members.iter().position(|member| kind(member).is_some()));
    match place.map(|place| &mut members[place]) {
        Some(Value::Object(member)) => *member = add_null(std::mem::take(member)),
        _ => members.push(json!({"type": "null"})),
    }
}

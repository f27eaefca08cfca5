//! A simplified view of a JSON Schema: the information that a person needs to give a value, and checks of values.
//!
//! `tool_schema` has another `Shape`, for the dialects of providers. That one is private, records what a dialect loses, and
//! checks no values.

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;

use regex::Regex;
use serde_json::{Map, Value};

use super::{scalar, words};
use tool_schema::schema::pointer;

/// A description of the values that are possible.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    pub kind: Kind,
    /// A name for people.
    pub title: Option<String>,
    pub description: String,
    /// All allowed values with their meanings. Empty if any value of the kind is allowed.
    pub allowed: Vec<Choice>,
    /// The value if none is given.
    pub default: Option<Value>,
    pub examples: Vec<Value>,
    /// Set if `null` is valid.
    pub is_nullable: bool,
}

/// One allowed value.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub value: Value,
    /// The meaning, if the schema describes it.
    pub label: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kind {
    /// A text.
    Text(Text),
    /// A number, without a fraction if `is_integer` is set.
    Number(Number),
    /// Yes or no.
    Bool,
    /// A list of values of one shape.
    List { item: Box<Shape>, least: usize, most: Option<usize>, has_unique_items: bool },
    /// Named values.
    Object { fields: Vec<Field>, is_open: bool },
    /// A value of one of several simple kinds.
    Either(Vec<Shape>),
    /// Any JSON.
    #[default]
    Anything,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    pub least: usize,
    pub most: Option<usize>,
    pub pattern: Option<String>,
    pub format: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub is_integer: bool,
    pub range: (Bound<f64>, Bound<f64>),
    pub step: Option<f64>,
}

/// A named value of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name on the wire.
    pub name: String,
    pub is_required: bool,
    /// The values that it may have.
    pub shape: Shape,
}

impl Shape {
    /// Reads a schema. Unsupported parts become [`Kind::Anything`].
    pub fn of(schema: &Value) -> Self {
        Reader { root: schema, nodes_left: MAX_NODES }.read(schema, 0)
    }

    /// Returns the fields of an object; none for other kinds.
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Object { fields, .. } => fields,
            _ => &[],
        }
    }

    /// Returns the shape at a JSON Pointer, if it is known.
    pub fn at(&self, pointer: &str) -> Option<&Shape> {
        let mut shape = self;
        for step in pointer.split('/').skip(1) {
            shape = match &shape.kind {
                Kind::Object { fields, .. } => {
                    let name = pointer::last(step);
                    &fields.iter().find(|field| field.name == name)?.shape
                }
                Kind::List { item, .. } => item,
                _ => return None,
            };
        }
        Some(shape)
    }

    pub fn only_value(&self) -> Option<&Value> {
        match &self.allowed[..] {
            [one] if !self.is_nullable => Some(&one.value),
            _ => None,
        }
    }

    /// Returns whether the value is an object that is asked for field by field.
    pub fn is_form(&self) -> bool {
        self.allowed.is_empty() && self.fields().iter().any(|field| field.is_required)
    }

    /// Returns whether the value is the number of a month. `name` is the parameter's name or pointer.
    pub fn is_month(&self, name: &str) -> bool {
        let Kind::Number(limits) = &self.kind else { return false };
        let called = format!("{name} {}", self.description);
        limits.range.1 == Included(12.0) && words::tokens(&called).iter().any(|token| token == "month")
    }

    /// Returns the format that a text must have.
    pub fn format(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => text.format.as_deref(),
            _ => None,
        }
    }

    /// Returns whether any text of the right length is valid.
    pub fn is_free_text(&self) -> bool {
        let Kind::Text(text) = &self.kind else { return false };
        self.allowed.is_empty() && text.pattern.is_none() && text.format.is_none()
    }

    /// Checks a value. Fails with the problem, as a phrase that follows the parameter's name.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if value.is_null() && self.is_nullable {
            return Ok(());
        }
        if !self.allowed.is_empty() {
            if self.allowed.iter().any(|choice| choice.value == *value) {
                return Ok(());
            }
            let some: Vec<_> = self.allowed.iter().take(5).map(|choice| scalar::to_plain_text(&choice.value)).collect();
            let more = if self.allowed.len() > 5 { ", …" } else { "" };
            return Err(format!("must be one of {}{more}", some.join(", ")));
        }
        match (&self.kind, value) {
            (Kind::Text(limits), Value::String(text)) => limits.check(text, self.examples.first()),
            (Kind::Number(limits), Value::Number(number)) => limits.check(number),
            (Kind::Bool, Value::Bool(_)) | (Kind::Anything, _) => Ok(()),
            (Kind::Either(shapes), value) => {
                let reasons: Result<Vec<String>, ()> =
                    shapes.iter().map(|shape| shape.check(value).err().ok_or(())).collect();
                reasons.map_or(Ok(()), |reasons| Err(reasons.join(", or ")))
            }
            (Kind::List { item, least, most, has_unique_items }, Value::Array(items)) => {
                if items.len() < *least {
                    return Err(format!("needs at least {least}"));
                }
                if let Some(most) = most.filter(|most| items.len() > *most) {
                    return Err(format!("takes at most {most}"));
                }
                if *has_unique_items && items.iter().enumerate().any(|(at, item)| items[..at].contains(item)) {
                    return Err("must not hold the same value twice".to_owned());
                }
                items.iter().enumerate().try_for_each(|(at, value)| {
                    item.check(value).map_err(|reason| format!("(number {}) {reason}", at + 1))
                })
            }
            (Kind::Object { fields, is_open }, Value::Object(map)) => {
                for field in fields {
                    match map.get(&field.name) {
                        Some(value) => {
                            field.shape.check(value).map_err(|reason| format!("({}) {reason}", field.name))?;
                        }
                        None if field.is_required => return Err(format!("needs `{}`", field.name)),
                        None => {}
                    }
                }
                match map.keys().find(|key| !is_open && fields.iter().all(|field| field.name != **key)) {
                    Some(key) => Err(format!("has no field `{key}`")),
                    None => Ok(()),
                }
            }
            (kind, _) => Err(format!("must be {}", kind.noun())),
        }
    }
}

impl Choice {
    /// Creates a choice without a label.
    pub fn without_label(value: &Value) -> Self {
        Self { value: value.clone(), label: String::new() }
    }
}

/// The maximum depth of nested values, and of chains of references. The person gives deeper values as JSON.
const MAX_DEPTH: usize = 6;
/// The maximum number of nodes that are read from a schema, because references can multiply a small text into a huge tree.
const MAX_NODES: usize = 2000;

/// A reader of schemas that may refer to one another.
struct Reader<'a> {
    root: &'a Value,
    nodes_left: usize,
}

impl Reader<'_> {
    fn read(&mut self, schema: &Value, depth: usize) -> Shape {
        let Some(known) = schema.as_object().filter(|_| depth <= MAX_DEPTH && self.nodes_left > 0) else {
            return Shape::default();
        };
        self.nodes_left -= 1;
        let merged = self.merge(known, 0);
        let word = |key: &str| merged.get(key).and_then(Value::as_str).map(str::trim);
        let mut shape = Shape {
            title: word("title").map(str::to_owned),
            description: word("description").unwrap_or_default().to_owned(),
            default: merged.get("default").cloned(),
            examples: merged.get("examples").and_then(Value::as_array).cloned().unwrap_or_default(),
            ..Shape::default()
        };
        shape.examples.extend(merged.get("example").cloned());
        let types = type_names(&merged);
        shape.is_nullable = types.contains(&"null") || merged.get("nullable") == Some(&Value::Bool(true));
        let types: Vec<_> = types.into_iter().filter(|kind| *kind != "null").collect();
        if let Some(values) = merged.get("enum").and_then(Value::as_array) {
            shape.is_nullable |= values.contains(&Value::Null);
            shape.allowed = values.iter().filter(|value| !value.is_null()).map(Choice::without_label).collect();
        }
        if let Some(value) = merged.get("const").filter(|value| !value.is_null()) {
            shape.allowed = vec![Choice::without_label(value)];
        }
        shape.kind = match &types[..] {
            [one] => self.read_kind(one, &merged, depth),
            [] => self.read_alternatives(&mut shape, &merged, depth),
            several => unite_kinds(
                several
                    .iter()
                    .map(|kind| self.read_kind(kind, &merged, depth))
                    .map(|kind| Shape { kind, ..Shape::default() })
                    .collect(),
            ),
        };
        if !shape.allowed.is_empty() && shape.kind == Kind::Anything {
            shape.kind = kind_of_value(&shape.allowed[0].value);
        }
        shape
    }

    /// Merges the schema with its reference and its `allOf`. Its own keywords take precedence.
    fn merge(&mut self, schema: &Map<String, Value>, links: usize) -> Map<String, Value> {
        let mut out = schema.clone();
        let reference = out.remove("$ref");
        let target = reference.as_ref().and_then(Value::as_str).and_then(|link| {
            let pointer = link.strip_prefix('#')?;
            self.root.pointer(pointer).and_then(Value::as_object).cloned()
        });
        let parts = out.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
        for part in target.into_iter().chain(parts.iter().filter_map(Value::as_object).cloned()) {
            if links >= MAX_DEPTH || self.nodes_left == 0 {
                break;
            }
            self.nodes_left -= 1;
            for (key, value) in self.merge(&part, links + 1) {
                match (out.get_mut(&key), value) {
                    (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                        more.into_iter().for_each(|(name, property)| {
                            own.entry(name).or_insert(property);
                        });
                    }
                    (Some(Value::Array(own)), Value::Array(more)) if key == "required" => own.extend(more),
                    (Some(_), _) => {}
                    (None, value) => {
                        out.insert(key, value);
                    }
                }
            }
        }
        out
    }

    fn read_kind(&mut self, name: &str, schema: &Map<String, Value>, depth: usize) -> Kind {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let word = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        match name {
            "string" => Kind::Text(Text {
                least: count("minLength").unwrap_or(0),
                most: count("maxLength"),
                pattern: word("pattern"),
                format: word("format"),
            }),
            "integer" | "number" => Kind::Number(Number {
                is_integer: name == "integer",
                range: (
                    stricter_bound(number("minimum"), number("exclusiveMinimum"), f64::gt),
                    stricter_bound(number("maximum"), number("exclusiveMaximum"), f64::lt),
                ),
                step: number("multipleOf").filter(|step| *step > 0.0),
            }),
            "boolean" => Kind::Bool,
            "array" if !schema.contains_key("prefixItems") => Kind::List {
                item: Box::new(schema.get("items").map(|items| self.read(items, depth + 1)).unwrap_or_default()),
                least: count("minItems").unwrap_or(0),
                most: count("maxItems"),
                has_unique_items: schema.get("uniqueItems") == Some(&Value::Bool(true)),
            },
            "object" => {
                let names = schema.get("required").and_then(Value::as_array);
                let is_required = |name: &str| names.is_some_and(|names| names.iter().any(|known| known == name));
                let mut fields = Vec::new();
                for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let shape = self.read(property, depth + 1);
                    fields.push(Field { name: name.clone(), is_required: is_required(name), shape });
                }
                let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
                Kind::Object { fields, is_open }
            }
            _ => Kind::Anything,
        }
    }

    /// Reads `anyOf` and `oneOf`: a nullable value, a list of constants, or several kinds.
    fn read_alternatives(&mut self, shape: &mut Shape, schema: &Map<String, Value>, depth: usize) -> Kind {
        let Some(parts) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array()) else {
            return if schema.contains_key("properties") {
                self.read_kind("object", schema, depth)
            } else {
                Kind::Anything
            };
        };
        let mut shapes = Vec::new();
        for part in parts {
            let read = self.read(part, depth + 1);
            let is_null =
                part.get("type").is_some_and(|kind| kind == "null") || part.get("const") == Some(&Value::Null);
            shape.is_nullable |= is_null || read.is_nullable;
            if !is_null {
                shapes.push(read);
            }
        }
        if shapes.len() == 1 {
            let one = shapes.remove(0);
            if shape.description.is_empty() {
                shape.description = one.description;
            }
            shape.allowed = one.allowed;
            return one.kind;
        }
        if !shapes.is_empty() && shapes.iter().all(|part| !part.allowed.is_empty()) {
            for part in shapes {
                let label = Some(part.description).filter(|text| !text.is_empty()).or(part.title).unwrap_or_default();
                let is_single = part.allowed.len() == 1;
                let named = part.allowed.into_iter();
                shape
                    .allowed
                    .extend(named.map(|one| if is_single { Choice { label: label.clone(), ..one } } else { one }));
            }
            return shape.allowed.first().map_or(Kind::Anything, |one| kind_of_value(&one.value));
        }
        unite_kinds(shapes)
    }
}

/// Returns the stricter of an inclusive and an exclusive limit.
fn stricter_bound(included: Option<f64>, excluded: Option<f64>, stricter: fn(&f64, &f64) -> bool) -> Bound<f64> {
    match (included, excluded) {
        (Some(included), Some(excluded)) if stricter(&included, &excluded) => Included(included),
        (_, Some(excluded)) => Excluded(excluded),
        (included, None) => included.map_or(Unbounded, Included),
    }
}

/// Returns a union of the shapes if each is a text, a number or a boolean; otherwise [`Kind::Anything`].
fn unite_kinds(shapes: Vec<Shape>) -> Kind {
    let is_simple = |shape: &Shape| matches!(shape.kind, Kind::Text(_) | Kind::Number(_) | Kind::Bool);
    if !shapes.is_empty() && shapes.iter().all(is_simple) { Kind::Either(shapes) } else { Kind::Anything }
}

fn type_names(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn kind_of_value(value: &Value) -> Kind {
    match value {
        Value::String(_) => Kind::Text(Text::default()),
        Value::Number(_) => Kind::Number(Number { is_integer: false, range: (Unbounded, Unbounded), step: None }),
        Value::Bool(_) => Kind::Bool,
        _ => Kind::Anything,
    }
}

impl Kind {
    /// Returns the noun for values of the kind.
    pub fn noun(&self) -> &'static str {
        match self {
            Kind::Text(text) => match text.format.as_deref() {
                Some("date") => "a date such as 2026-10-01",
                Some("time") => "a time such as 14:30",
                Some("date-time") => "a date and time such as 2026-10-01T14:30:00Z",
                Some("email") => "an email address",
                Some("uri" | "url") => "a web address such as https://example.com",
                Some("uuid") => "a UUID",
                _ => "a text",
            },
            Kind::Number(Number { is_integer: true, .. }) => "a whole number",
            Kind::Number(_) => "a number",
            Kind::Bool => "yes or no",
            Kind::List { .. } => "a list",
            Kind::Object { .. } => "an object, such as {\"name\": \"value\"}",
            Kind::Either(_) | Kind::Anything => "a JSON value",
        }
    }
}

impl Text {
    fn check(&self, text: &str, example: Option<&Value>) -> Result<(), String> {
        let length = text.chars().count();
        if length < self.least {
            let least = self.least;
            return Err(if length == 0 {
                "must not be empty".into()
            } else {
                format!("needs at least {least} characters")
            });
        }
        if let Some(most) = self.most.filter(|most| length > *most) {
            return Err(format!("takes at most {most} characters, and this has {length}"));
        }
        // Patterns that the linear-time engine cannot compile are left to the tool.
        if let Some(pattern) = &self.pattern
            && Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
        {
            let example = example.map(scalar::to_short_text).or_else(|| scalar::make_sample(pattern));
            return Err(match example {
                Some(example) => format!("must look like {example}"),
                None => "does not have the form that is needed".to_owned(),
            });
        }
        let has_format = self.format.as_deref().is_none_or(|format| scalar::has_format(format, text));
        if has_format { Ok(()) } else { Err(format!("must be {}", Kind::Text(self.clone()).noun())) }
    }
}

impl Number {
    fn check(&self, number: &serde_json::Number) -> Result<(), String> {
        let value = number.as_f64().unwrap_or(f64::NAN);
        if self.is_integer && (number.is_f64() || value.fract() != 0.0) {
            return Err("must be a whole number".to_owned());
        }
        if !self.range.contains(&value) {
            return Err(format!("must be {}", self.range_in_words().unwrap_or_else(|| "a number".into())));
        }
        match self.step {
            Some(step) if ((value / step) - (value / step).round()).abs() > 1e-9 => {
                Err(format!("must be a multiple of {step}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the range in a person's words, or `None` if there is none.
    pub fn range_in_words(&self) -> Option<String> {
        Some(match self.range {
            (Unbounded, Unbounded) => return None,
            (Included(low), Included(high)) => format!("from {low} to {high}"),
            (Included(low), Unbounded) => format!("{low} or more"),
            (Unbounded, Included(high)) => format!("{high} or less"),
            (Excluded(low), Unbounded) => format!("more than {low}"),
            (Unbounded, Excluded(high)) => format!("less than {high}"),
            (Included(low), Excluded(high)) => format!("at least {low} and less than {high}"),
            (Excluded(low), Included(high)) => format!("more than {low} and at most {high}"),
            (Excluded(low), Excluded(high)) => format!("more than {low} and less than {high}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(shape: &Shape) -> usize {
        1 + shape.fields().iter().map(|field| count(&field.shape)).sum::<usize>()
    }

    fn kind(schema: &Value) -> Kind {
        Shape::of(schema).kind
    }

    #[test]
    fn references_and_parts_are_put_together() {
        let shape = Shape::of(&json!({"$ref": "#/$defs/A", "description": "mine", "$defs": {
            "A": {"description": "its", "allOf": [{"properties": {"x": {"type": "boolean"}}, "required": ["x"]}],
                "type": "object", "properties": {"y": {"const": 1}}}}}));
        let fields: Vec<_> = shape.fields().iter().map(|field| (field.name.as_str(), field.is_required)).collect();
        assert_eq!((shape.description.as_str(), fields), ("mine", vec![("y", false), ("x", true)]));
        assert_eq!(shape.at("/y").and_then(Shape::only_value), Some(&json!(1)));
    }

    #[test]
    fn half_open_ranges_are_shown_in_words() {
        for (schema, error) in [
            (json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 5}), "must be at least 1 and less than 5"),
            (json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 5}), "must be more than 1 and at most 5"),
        ] {
            assert_eq!(Shape::of(&schema).check(&json!(9)), Err(error.to_owned()));
        }
    }

    #[test]
    fn nullables_and_alternatives() {
        let shape = Shape::of(&json!({"anyOf": [{"type": "string", "description": "a text"}, {"type": "null"}]}));
        assert!(shape.is_nullable && shape.description == "a text" && matches!(shape.kind, Kind::Text(_)));
        let shape = Shape::of(&json!({"oneOf": [{"const": "a", "description": "first"}, {"enum": ["b", "c"]}]}));
        let labels: Vec<_> = shape.allowed.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels, ["first", "", ""]);
        assert!(matches!(kind(&json!({"type": ["integer", "boolean"]})), Kind::Either(shapes) if shapes.len() == 2));
        assert_eq!(kind(&json!({"anyOf": [{"type": "object"}, {"type": "string"}]})), Kind::Anything);
        assert!(Shape::of(&json!({"enum": ["a", null]})).is_nullable);
    }

    #[test]
    fn schemas_that_never_end_are_cut() {
        assert_eq!(kind(&json!({"$ref": "#"})), Kind::Anything);
        let tree = json!({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {
            "a": {"$ref": "#/$defs/T"}, "b": {"$ref": "#/$defs/T"}, "c": {"$ref": "#/$defs/T"}, "d": {"$ref": "#/$defs/T"},
            "e": {"$ref": "#/$defs/T"}, "f": {"$ref": "#/$defs/T"}, "g": {"$ref": "#/$defs/T"}}}}});
        assert!(count(&Shape::of(&tree)) < 4 * MAX_NODES);
        for odd in
            [json!(true), json!(null), json!({"$ref": 1}), json!({"allOf": [true], "type": 3}), json!({"$ref": "#/x"})]
        {
            assert_eq!(kind(&odd), Kind::Anything);
        }
    }
}

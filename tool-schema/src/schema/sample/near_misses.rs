//! Values that miss one limit of a schema.

use serde_json::{Number, Value, json};

use crate::schema::{CompiledSchema, pointer::join};

/// The longest text or list that is made to exceed a limit.
const MAX_LENGTH: usize = 10_000;

/// The number of references that are followed on the way to a value.
const MAX_DEPTH: usize = 32;

/// A value that a schema refuses because of one limit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearMiss {
    /// The keyword of the limit, such as `maximum`.
    pub keyword: &'static str,
    /// The place of the change in the value, as a JSON pointer.
    pub place: String,
    /// The value.
    pub value: Value,
}

/// Returns changes of `valid`, a value that `schema` accepts. Each misses one limit of the schema as closely as possible. `compiled`
/// is the same schema, and refuses each of them.
///
/// Limits of parts that `valid` does not have are left out, and so are limits that some other part of a union takes back.
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::{CompiledSchema, near_misses};
///
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]});
/// let compiled = CompiledSchema::compile(&schema).unwrap();
/// let missed = near_misses(&schema, &compiled, &json!({"n": 1}));
/// let changed: Vec<_> = missed.iter().map(|miss| (miss.keyword, miss.value.to_string())).collect();
/// assert!(changed.contains(&("required", "{}".to_owned())));
/// assert!(changed.contains(&("maximum", r#"{"n":4}"#.to_owned())));
/// ```
pub fn near_misses(schema: &Value, compiled: &CompiledSchema, valid: &Value) -> Vec<NearMiss> {
    let mut walk = Walk { root: schema, compiled, valid, found: Vec::new() };
    walk.visit(schema, "", valid, 0);
    walk.found
}

struct Walk<'a> {
    root: &'a Value,
    compiled: &'a CompiledSchema,
    valid: &'a Value,
    found: Vec<NearMiss>,
}

impl<'a> Walk<'a> {
    /// Visits the part `value` of the valid value, at `place`, with one of its schemas.
    fn visit(&mut self, schema: &'a Value, place: &str, value: &'a Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|path| self.root.pointer(path.strip_prefix('#')?)) {
            self.visit(target, place, value, depth + 1);
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            for part in schema[word].as_array().into_iter().flatten() {
                self.visit(part, place, value, depth + 1);
            }
        }
        // The arguments of a call are always an object.
        if schema.get("type").is_some() && !place.is_empty() {
            let others = [json!("text"), json!(7), Value::Null, json!([])];
            // A value of the same kind would miss another limit.
            let is_other = |other: &Value| std::mem::discriminant(other) != std::mem::discriminant(value);
            self.miss("type", place, others.into_iter().filter(is_other));
        }
        for keyword in ["enum", "const"] {
            if schema.get(keyword).is_some() {
                let other = value.as_str().map(|text| json!(format!("{text}_")));
                self.miss(keyword, place, other.into_iter().chain([json!("none of these"), json!(-12345)]));
            }
        }
        match value {
            Value::Object(_) => self.visit_object(schema, place, value, depth),
            Value::Array(items) => self.visit_list(schema, place, items, depth),
            Value::String(text) => self.visit_text(schema, place, text),
            Value::Number(number) => self.visit_number(schema, place, number),
            _ => {}
        }
    }

    fn visit_object(&mut self, schema: &'a Value, place: &str, value: &'a Value, depth: usize) {
        let Some(members) = value.as_object() else { return };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let mut rest = members.clone();
            rest.shift_remove(name);
            self.miss("required", place, [Value::Object(rest)]);
        }
        for word in ["additionalProperties", "unevaluatedProperties"] {
            if schema[word] == json!(false) {
                let mut more = members.clone();
                more.insert("unknown".to_owned(), Value::Null);
                self.miss(
                    if word.starts_with('a') { "additionalProperties" } else { "unevaluatedProperties" },
                    place,
                    [more.into()],
                );
            }
        }
        for (name, member) in members {
            let declared = schema["properties"].get(name);
            let other = || schema.get("additionalProperties").filter(|rest| rest.is_object());
            if let Some(part) = declared.or_else(other) {
                self.visit(part, &join(place, name), member, depth + 1);
            }
        }
    }

    fn visit_list(&mut self, schema: &'a Value, place: &str, items: &'a [Value], depth: usize) {
        if let Some(least) = count(schema, "minItems").filter(|least| (1..=items.len()).contains(least)) {
            self.miss("minItems", place, [items[..least - 1].to_vec().into()]);
        }
        if let (Some(most), Some(last)) = (count(schema, "maxItems"), items.last()) {
            let mut more = items.to_vec();
            more.resize(more.len().max(most + 1), last.clone());
            self.miss("maxItems", place, [more.into()]);
        }
        if let (Value::Bool(true), Some(first)) = (&schema["uniqueItems"], items.first()) {
            let twice = items.iter().chain([first]).cloned().collect();
            self.miss("uniqueItems", place, [twice]);
        }
        for (at, item) in items.iter().enumerate() {
            let part = schema["prefixItems"].get(at).or_else(|| schema.get("items"));
            if let Some(part) = part {
                self.visit(part, &join(place, &at.to_string()), item, depth + 1);
            }
        }
    }

    fn visit_text(&mut self, schema: &Value, place: &str, text: &str) {
        let length = text.chars().count();
        if let Some(least) = count(schema, "minLength").filter(|least| *least > 0) {
            self.miss("minLength", place, [text.chars().take(least - 1).collect::<String>().into()]);
        }
        if let Some(most) = count(schema, "maxLength") {
            let last = text.chars().last().unwrap_or('x');
            let more = text.chars().chain(std::iter::repeat_n(last, (most + 1).saturating_sub(length)));
            self.miss("maxLength", place, [more.collect::<String>().into()]);
        }
        if schema["pattern"].is_string() {
            self.miss("pattern", place, [format!("{text}~").into(), format!("~{text}").into(), "~".into(), "".into()]);
        }
        if schema["format"].is_string() {
            self.miss("format", place, [format!("{text}~").into(), "~".into()]);
        }
    }

    fn visit_number(&mut self, schema: &Value, place: &str, number: &Number) {
        let is_integer = !number.is_f64();
        for (keyword, step) in [("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0), ("exclusiveMaximum", 0)] {
            let bound = &schema[keyword];
            let beyond = match (bound.as_i64(), bound.as_f64()) {
                (Some(bound), _) if is_integer => bound.checked_add(step).map(Value::from),
                (_, Some(bound)) if !is_integer => Some(json!(match step {
                    -1 => bound.next_down(),
                    1 => bound.next_up(),
                    _ => bound,
                })),
                _ => None,
            };
            self.miss(keyword, place, beyond);
        }
        if schema.get("multipleOf").is_some() {
            let next = number.as_i64().and_then(|number| number.checked_add(1)).map(Value::from);
            self.miss(
                "multipleOf",
                place,
                next.into_iter().chain(number.as_f64().map(|number| json!(number + 0.1234))),
            );
        }
        if schema["type"] == "integer" {
            self.miss("type", place, number.as_f64().map(|number| json!(number + 0.5)));
        }
    }

    /// Keeps the valid value with the first of `others` at `place` that the schema refuses, if there is one.
    fn miss(&mut self, keyword: &'static str, place: &str, others: impl IntoIterator<Item = Value>) {
        for other in others {
            let mut value = self.valid.clone();
            if let Some(part) = value.pointer_mut(place) {
                *part = other;
            }
            if !self.compiled.is_valid(&value) {
                // Two branches of a union often have the same limit.
                if !self.found.iter().any(|known| known.value == value) {
                    self.found.push(NearMiss { keyword, place: place.to_owned(), value });
                }
                return;
            }
        }
    }
}

/// Returns the limit of a length, if a value can exceed it.
fn count(schema: &Value, keyword: &str) -> Option<usize> {
    schema[keyword].as_u64().and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit < MAX_LENGTH)
}

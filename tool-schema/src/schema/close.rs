//! Closing of the objects in a schema of declared types: names that the types do not declare become errors.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    places::{self, Holds},
    pointer,
};

/// The keywords whose schemas apply to the same value as the schema around them.
const IN_PLACE: [&str; 4] = ["allOf", "anyOf", "oneOf", "$ref"];

/// The keywords that say which other names an object may have.
const OTHER_NAMES: [&str; 4] = ["additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"];

/// Forbids unknown names in each object of `schema` whose names are declared: an object with `properties`, alone or together with the
/// schemas that apply in place, such as a flattened enum. An object with free names stays as it is: it is a map, or has a flattened
/// one.
///
/// A definition may be used alone and as a part of a larger object: a variant with a tag. There it is copied, without its own end.
pub fn close_objects(schema: &mut Value) {
    if schema.get("$defs").is_none() {
        // Without definitions there is nothing to copy.
        return Close { root: &Value::Null, inside: Vec::new() }.close_whole(schema, 0);
    }
    let root = schema.clone();
    Close { root: &root, inside: Vec::new() }.close_whole(schema, 0);
    remove_unused(schema);
}

/// Removes definitions to which nothing refers any more.
fn remove_unused(schema: &mut Value) {
    let mut used = HashSet::new();
    places::visit(schema, &mut |_, part| {
        let reference = part.get("$ref").and_then(Value::as_str);
        used.extend(reference.and_then(|reference| Some(pointer::resolve(schema, "", reference)?.0)));
    });
    if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
        definitions.retain(|name, _| used.contains(&pointer::join("/$defs", name)));
        if definitions.is_empty()
            && let Value::Object(schema) = schema
        {
            schema.shift_remove("$defs");
        }
    }
}

struct Close<'a> {
    /// The schema before the change.
    root: &'a Value,
    /// The references that are being copied.
    inside: Vec<String>,
}

impl Close<'_> {
    /// Closes a schema that describes a whole value, and those inside.
    fn close_whole(&mut self, schema: &mut Value, level: usize) {
        let Value::Object(map) = schema else { return };
        if level > places::MAX_NESTING {
            return;
        }
        let joins = IN_PLACE.iter().any(|word| map.contains_key(*word));
        let is_free = OTHER_NAMES.iter().any(|word| map.contains_key(*word));
        let is_joined = joins && (map.contains_key("properties") || map.contains_key("allOf"));
        if !is_joined {
            if map.contains_key("properties") && !is_free {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            places::visit_children(map, |_, _, child| self.close_whole(child, level + 1));
            return;
        }
        // Without a copy, the definition's own end would refuse the names beside the reference.
        let mut names_are_known = true;
        self.close_part(map, level, &mut names_are_known);
        if !is_free && names_are_known {
            map.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
        }
    }

    /// Closes the values inside of a schema that describes a part of an object. Unsets `names_are_known` if the part has free
    /// names or an end of its own, or refers to itself.
    fn close_part(&mut self, map: &mut Map<String, Value>, level: usize, names_are_known: &mut bool) {
        if level > places::MAX_NESTING {
            *names_are_known = false;
            return;
        }
        let reference = map.get("$ref").and_then(Value::as_str).map(str::to_owned);
        if let Some(reference) = reference {
            let target = pointer::resolve(self.root, "", &reference).and_then(|(_, target)| target.as_object());
            match target {
                Some(target) if !self.inside.contains(&reference) => {
                    let mut copy = target.clone();
                    copy.retain(|word, _| !places::is_structure(word));
                    self.inside.push(reference);
                    // Both forms that schemars writes for an end.
                    for word in ["additionalProperties", "unevaluatedProperties"] {
                        if copy.get(word) == Some(&json!(false)) {
                            copy.shift_remove(word);
                        }
                    }
                    self.close_part(&mut copy, level + 1, names_are_known);
                    self.inside.pop();
                    map.shift_remove("$ref");
                    join(map, copy);
                }
                _ => *names_are_known = false,
            }
            return;
        }
        places::visit_children(map, |word, _, child| match (word, child) {
            ("allOf" | "anyOf" | "oneOf", Value::Object(child)) => self.close_part(child, level + 1, names_are_known),
            (_, child) => self.close_whole(child, level + 1),
        });
        // The part itself decides about other names.
        *names_are_known &= !OTHER_NAMES.iter().any(|word| map.contains_key(*word));
    }
}

/// Adds `part`, which applies to the same value, to `schema`.
fn join(schema: &mut Map<String, Value>, part: Map<String, Value>) {
    let is_mergeable = part.iter().all(|(word, value)| match word.as_str() {
        "properties" | "required" => true,
        word => places::is_annotation(word) || schema.get(word).is_none_or(|other| other == value),
    });
    if !is_mergeable {
        let all = schema.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(Value::Object(part));
        }
        return;
    }
    for (word, value) in part {
        match (schema.get_mut(&word), value) {
            (None, value) => {
                schema.insert(word, value);
            }
            (Some(Value::Object(names)), Value::Object(others)) if places::holds(&word, &json!({})) == Holds::Named => {
                for (name, other) in others {
                    names.entry(name).or_insert(other);
                }
            }
            (Some(Value::Array(names)), Value::Array(others)) if word == "required" => {
                names.extend(others.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "the types are only described")]

    use std::collections::HashMap;

    use schemars::{JsonSchema, schema_for};

    use super::*;

    fn accepts<T: JsonSchema>(value: &Value) -> bool {
        let mut schema = schema_for!(T).to_value();
        close_objects(&mut schema);
        let exact = crate::schema::Schema::from_schemars(schema);
        let ours = crate::schema::CompiledSchema::compile(exact.neutral()).unwrap().is_valid(value);
        assert_eq!(ours, jsonschema::is_valid(exact.neutral(), value), "{} {value}", exact.neutral());
        ours
    }

    #[derive(JsonSchema)]
    struct Point {
        x: i32,
        next: Option<Box<Point>>,
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        name: String,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    enum Tagged {
        Nothing,
        At(Point),
        Of(Closed),
        Named { name: String, at: Point },
    }

    #[derive(JsonSchema)]
    enum External {
        Light,
        Heavy(u8),
    }

    #[test]
    fn unknown_names_are_refused_at_every_level() {
        assert!(accepts::<Point>(&json!({"x": 1, "next": {"x": 2}})));
        assert!(!accepts::<Point>(&json!({"x": 1, "y": 1})));
        assert!(!accepts::<Point>(&json!({"x": 1, "next": {"x": 2, "y": 1}})));
        assert!(!accepts::<Vec<Option<Point>>>(&json!([{"x": 1, "y": 1}])));
        for (value, fits) in [
            (json!({"kind": "Nothing"}), true),
            (json!({"kind": "Nothing", "x": 1}), false),
            (json!({"kind": "At", "x": 1, "next": {"x": 1}}), true),
            (json!({"kind": "At", "x": 1, "y": 1}), false),
            (json!({"kind": "At", "x": 1, "next": {"x": 1, "kind": "At"}}), false),
            (json!({"kind": "Of", "name": "a"}), true),
            (json!({"kind": "Of", "name": "a", "x": 1}), false),
            (json!({"kind": "Named", "name": "a", "at": {"x": 1}}), true),
            (json!({"kind": "Named", "name": "a", "at": {"x": 1, "kind": "At"}}), false),
        ] {
            assert_eq!(accepts::<Tagged>(&value), fits, "{value}");
        }
    }

    #[test]
    fn flattened_types_end_together() {
        #[derive(JsonSchema)]
        struct Parcel {
            id: u8,
            #[serde(flatten)]
            weight: External,
            #[serde(flatten)]
            tagged: Tagged,
        }
        let parcel = json!({"id": 1, "Heavy": 2, "kind": "At", "x": 1});
        assert!(accepts::<Parcel>(&parcel));
        for (name, value) in [("y", json!(1)), ("Light", json!(null)), ("name", json!("a"))] {
            let mut other = parcel.clone();
            other[name] = value;
            assert!(!accepts::<Parcel>(&other), "{other}");
        }
    }

    #[test]
    fn free_names_stay_free() {
        #[derive(JsonSchema)]
        struct Rest {
            id: u8,
            #[serde(flatten)]
            rest: HashMap<String, Value>,
        }
        #[derive(JsonSchema)]
        #[schemars(extend("additionalProperties" = true))]
        struct Open {
            id: u8,
        }
        assert!(accepts::<Rest>(&json!({"id": 1, "a": {"b": 1}})));
        assert!(accepts::<HashMap<String, Value>>(&json!({"a": {"b": 1}})));
        assert!(accepts::<Map<String, Value>>(&json!({"a": 1})) && accepts::<Value>(&json!({"a": 1})));
        assert!(accepts::<Open>(&json!({"id": 1, "a": 1})));
        let mut any = json!({"type": "object"});
        close_objects(&mut any);
        assert_eq!(any, json!({"type": "object"}), "any object");
    }
}

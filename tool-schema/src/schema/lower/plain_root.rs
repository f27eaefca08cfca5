//! A root that is one object without a union, for clients that pass a schema on to a provider unchanged.

use serde_json::{Map, Value, json};

use crate::schema::{Dialect, Schema, pointer};

/// The keywords that providers refuse at the root.
const REFUSED: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// The maximum number of branches whose properties are read. A hostile schema has many.
const MAX_BRANCHES: usize = 1_000;

/// The maximum number of references that lead to a union.
const MAX_REFERENCES: usize = 10;

/// Returns the schema in JSON Schema 2020-12, with a root of one object that has no `oneOf`, `anyOf`, `allOf`, `enum` or `not`. Returns
/// `None` if its root is such an object.
///
/// - A union of objects, or a reference, gets the properties of all branches; a property with several schemas gets `anyOf`. Its
///   description says which properties belong together. Only the root changes. So it accepts what the schema accepts, and more.
/// - If the root says no type, it gets one.
/// - If some arguments are no objects, it is the portable form, which wraps them.
pub fn one_object(schema: &Schema) -> Option<Value> {
    let exact: Value = serde_json::from_str(schema.lowered(Dialect::JsonSchema2020).json().get()).ok()?;
    // Most roots are such an object. They need no other form.
    if exact["type"] == "object" && REFUSED.iter().chain(&["$ref"]).all(|word| exact.get(*word).is_none()) {
        return None;
    }
    let portable = schema.lowered(Dialect::Portable);
    let merged: Value = serde_json::from_str(portable.json().get()).ok()?;
    if portable.wraps() {
        return Some(merged);
    }
    let Value::Object(mut root) = exact.clone() else { return None };
    if !root.contains_key("$ref") && !is_union(&exact, &exact, MAX_REFERENCES) {
        let before = root.insert("type".to_owned(), "object".into());
        return (before != Some("object".into())).then_some(Value::Object(root));
    }
    for word in REFUSED.iter().chain(&["$ref", "unevaluatedProperties"]) {
        root.remove(*word);
    }
    root.insert("type".to_owned(), "object".into());
    let mut found: Map<String, Value> = Map::new();
    let mut budget = MAX_BRANCHES;
    collect(&exact, &exact, &mut budget, &mut found);
    if budget == 0 {
        return Some(Value::Object(root));
    }
    let names = merged["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    let properties = names.map(|name| {
        let schema = match found.remove(name) {
            Some(Value::Array(all)) if all.len() > 1 => json!({ "anyOf": all }),
            Some(Value::Array(all)) => all.into_iter().next().unwrap_or_else(|| json!({})),
            _ => json!({}),
        };
        (name.clone(), schema)
    });
    root.insert("properties".to_owned(), Value::Object(properties.collect()));
    for word in ["description", "required"] {
        if let Some(value) = merged.get(word) {
            root.insert(word.to_owned(), value.clone());
        }
    }
    if merged.get("additionalProperties") == Some(&Value::Bool(false)) {
        root.entry("additionalProperties").or_insert(Value::Bool(false));
    } else if root.get("additionalProperties") == Some(&Value::Bool(false)) {
        root.remove("additionalProperties");
    }
    Some(Value::Object(root))
}

/// Returns whether `schema` is a union, or refers to one.
fn is_union(root: &Value, schema: &Value, references: usize) -> bool {
    let target = || pointer::resolve(root, "", schema["$ref"].as_str()?);
    schema.get("oneOf").or_else(|| schema.get("anyOf")).is_some()
        || references > 0 && target().is_some_and(|(_, target)| is_union(root, target, references - 1))
}

/// Adds the schemas of the properties of `schema` and of its branches to `found`, each once.
fn collect<'a>(root: &'a Value, schema: &'a Value, budget: &mut usize, found: &mut Map<String, Value>) {
    if *budget == 0 {
        return;
    }
    *budget -= 1;
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Value::Array(all) = found.entry(name.as_str()).or_insert_with(|| json!([]))
            && !all.contains(property)
        {
            all.push(property.clone());
        }
    }
    for branch in ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        collect(root, branch, budget, found);
    }
    let target = schema["$ref"].as_str().and_then(|reference| pointer::resolve(root, "", reference));
    if let Some((_, target)) = target {
        collect(root, target, budget, found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::{CompiledSchema, Severity, testing};

    #[test]
    fn only_the_root_changes_and_only_where_it_is_no_object() {
        let amount = json!({"type": "integer", "minimum": 0, "maximum": u64::MAX});
        let union = json!({
            "type": "object",
            "description": "Finds one.",
            "properties": {"kind": {"type": "string", "format": "hostname"}},
            "oneOf": [
                {"properties": {"number": amount, "v": {"oneOf": [{"const": 1}, {"const": 2}]}}, "required": ["number"]},
                {"$ref": "#/$defs/Mail"},
            ],
            "$defs": {"Mail": {"type": "object", "properties": {"v": {"$ref": "#/$defs/V"}}, "required": ["v"]}, "V": {"type": "string"}},
        });
        let plain = one_object(&Schema::new(union.clone())).unwrap();
        let expected = json!({
            "kind": {"type": "string", "format": "hostname"},
            "number": amount,
            "v": {"anyOf": [{"oneOf": [{"const": 1}, {"const": 2}]}, {"$ref": "#/$defs/V"}]},
        });
        assert_eq!(plain["properties"], expected);
        assert_eq!(plain["$defs"], union["$defs"]);
        assert_eq!(plain["type"], "object");
        let text = plain["description"].as_str().unwrap();
        assert!(text.starts_with("Finds one.") && text.contains("`number`"), "{text}");
        assert!(REFUSED.iter().all(|word| plain.get(*word).is_none()));
        let others = json!({"type": "object", "properties": {"a": union}, "allOf": [{"anyOf": [{"required": ["a"]}]}]});
        assert_eq!(one_object(&Schema::new(others)), None);
        let untyped = json!({"properties": {"a": {"type": "array"}}});
        assert_eq!(
            one_object(&Schema::new(untyped.clone())),
            Some(json!({"type": "object", "properties": untyped["properties"]}))
        );
        let list = json!({"type": "array", "items": {"$ref": "#"}, "maxItems": 9});
        let plain = one_object(&Schema::new(list)).unwrap();
        assert_eq!((&plain["type"], &plain["required"]), (&json!("object"), &json!(["value"])));
        let reference = json!({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"type": "object", "properties": {"b": {}}}}});
        let plain = one_object(&Schema::new(reference)).unwrap();
        assert_eq!((&plain["properties"], plain.get("$ref")), (&json!({"b": {}}), None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn it_accepts_what_the_schema_accepts((schema, value) in testing::schema_and_value()) {
            let Ok(neutral) = CompiledSchema::compile(&schema) else { return Ok(()) };
            let owner = Schema::new(schema);
            let Some(plain) = one_object(&owner) else { return Ok(()) };
            let portable = owner.lowered(Dialect::Portable);
            let worst = portable.worst().max(owner.lowered(Dialect::JsonSchema2020).worst());
            if (portable.wraps() || value.is_object()) && neutral.is_valid(&value) && worst < Some(Severity::Narrowed) {
                // A client sends what the schema shows: arguments that are wrapped.
                let sent: Value = serde_json::from_str(&portable.wrap(&value.to_string())).unwrap();
                prop_assert!(CompiledSchema::compile(&plain).unwrap().is_valid(&sent), "{sent}\n{}\n{plain}", owner.neutral());
            }
        }
    }
}

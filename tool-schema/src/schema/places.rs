//! Walks over a whole schema, for those who look it through.

use serde_json::{Map, Value};

use super::{pointer, words};

/// Calls `visit` with each schema in `root`, itself first, and its JSON Pointer.
pub fn each<'a>(root: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    fn below<'a>(schema: &'a Value, at: &str, visit: &mut impl FnMut(&str, &'a Value)) {
        visit(at, schema);
        for (_, place, inner) in words::children(schema, at) {
            below(inner, &place, visit);
        }
    }
    below(root, "", visit);
}

/// The references that lead nowhere: where each stands, and what it says.
pub fn unresolved(root: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    each(root, &mut |at, schema| {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && pointer::resolve(root, at, reference).is_none()
        {
            found.push((at.to_owned(), reference.to_owned()));
        }
    });
    found
}

/// The part of `root` at `at` as a schema of its own, with the definitions that its references lead to.
pub fn part(root: &Value, at: &str) -> Option<Value> {
    let mut part: Map<String, Value> = root.pointer(at)?.as_object()?.clone();
    for word in ["$schema", "$defs", "definitions"] {
        if let Some(value) = root.get(word) {
            part.entry(word).or_insert_with(|| value.clone());
        }
    }
    Some(Value::Object(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{each, part, unresolved};

    #[test]
    fn references_that_lead_nowhere_are_found() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "b": { "items": { "$ref": "#/$defs/B" } } },
            "$defs": { "A": { "type": "string" } },
        });
        assert_eq!(unresolved(&schema), [("/properties/b/items".to_owned(), "#/$defs/B".to_owned())]);
        let mut places = Vec::new();
        each(&schema, &mut |at, _| places.push(at.to_owned()));
        assert_eq!(places, ["", "/properties/a", "/properties/b", "/properties/b/items", "/$defs/A"]);
        assert_eq!(part(&schema, "/properties/a"), Some(json!({ "$ref": "#/$defs/A", "$defs": schema["$defs"] })));
    }
}

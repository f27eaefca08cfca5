//! Places in a schema.

use serde_json::Value;

/// The JSON Pointers of the values for which `wanted` holds, inner ones first.
pub(super) fn find(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, String::new(), wanted, &mut found);
    found
}

fn collect(value: &Value, place: String, wanted: &dyn Fn(&Value) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, part) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(part, format!("{place}/{key}"), wanted, found);
            }
        }
        Value::Array(items) => {
            for (index, part) in items.iter().enumerate() {
                collect(part, format!("{place}/{index}"), wanted, found);
            }
        }
        _ => {}
    }
    if wanted(value) {
        found.push(place);
    }
}

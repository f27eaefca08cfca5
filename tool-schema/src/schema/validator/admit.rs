//! Which schemas are looked at at all.

use serde_json::Value;

use super::{MOST_NESTING, MOST_RESOURCES, MOST_WAYS, Uncompilable};
use crate::schema::graph::{Cost, Graph};

const MOST_BYTES: usize = 1 << 20;
const MOST_VALUES: usize = 50_000;
const MOST_DEPTH: usize = 128;

/// Refuses a schema that is too large to compile.
pub(super) fn size(schema: &Value) -> Result<(), Uncompilable> {
    let mut size = Size { bytes: 0, values: 0 };
    size.add(schema, 0)
}

struct Size {
    bytes: usize,
    values: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), Uncompilable> {
        self.values += 1;
        self.bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Object(map) => 2 + map.keys().map(|key| key.len() + 4).sum::<usize>(),
            _ => 2,
        };
        let refused = if depth > MOST_DEPTH {
            format!("it is nested deeper than {MOST_DEPTH} levels")
        } else if self.values > MOST_VALUES {
            format!("it has more than {MOST_VALUES} values")
        } else if self.bytes > MOST_BYTES {
            format!("it is larger than {MOST_BYTES} bytes")
        } else {
            return match value {
                Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
                Value::Object(map) => map.values().try_for_each(|part| self.add(part, depth + 1)),
                _ => Ok(()),
            };
        };
        Err(Uncompilable(refused))
    }
}

/// What checks will cost. Refuses a schema that `jsonschema` cannot compile or run on a stack and in a time of ordinary size.
pub(super) fn cost(graph: &Graph) -> Result<Cost, Uncompilable> {
    let refused = |text: String| Err(Uncompilable(text));
    let Some(cost) = Cost::of(graph) else {
        return refused("a `$ref` leads back to itself without a property or an item in between".to_owned());
    };
    if cost.nesting > MOST_NESTING {
        return refused(format!(
            "{} schemas apply to one value inside each other, more than {MOST_NESTING}",
            cost.nesting
        ));
    }
    if cost.ways > MOST_WAYS {
        return refused("references multiply beyond what can be compiled".to_owned());
    }
    if graph.resources > MOST_RESOURCES {
        return refused(format!("it has {} parts with an `$id`, more than {MOST_RESOURCES}", graph.resources));
    }
    Ok(cost)
}

/// Why `jsonschema` refused a schema.
pub(super) fn told(error: &jsonschema::ValidationError<'_>) -> String {
    if let jsonschema::error::ValidationErrorKind::Referencing(error) = error.kind() {
        return cut(&format!("a reference leads nowhere (nothing is fetched): {error}"));
    }
    let place = error.instance_path().as_str();
    let place = if place.is_empty() { String::new() } else { format!("at {}: ", cut(place)) };
    format!("{place}{}", cut(&error.to_string()))
}

/// A foreign text on one line, shortened.
pub(super) fn cut(text: &str) -> String {
    crate::feedback::excerpt(text, 300)
}

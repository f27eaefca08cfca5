//! Made-up values that fit a schema, or nearly fit it.

use serde_json::{Map, Value, json};

/// A small pseudo-random generator with reproducible results.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates the generator of one round.
    pub fn new(round: u64) -> Self {
        Self(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a value that fits `schema`, or nearly fits it.
    pub fn near(&mut self, schema: &Value) -> Value {
        self.value(schema, schema, 0)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap_or(0)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// Returns a value for `schema`, a part of `root`.
    fn value(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        if depth > 6 || (depth > 0 && self.roll(12) == 0) {
            return self.anything();
        }
        if let Some(path) = schema["$ref"].as_str() {
            let target = root.pointer(path.trim_start_matches('#')).cloned().unwrap_or_default();
            return self.value(&target, root, depth + 1);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = schema[key].as_array() {
                let branch = self.pick(branches);
                return self.value(&branch, root, depth + 1);
            }
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.pick(values);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.pick(kinds),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema, root, depth),
            Some("array") => self.array(schema, root, depth),
            Some("string") => self.text(schema),
            Some("integer" | "number") => self.number(schema),
            Some("boolean") => Value::Bool(self.roll(2) == 0),
            Some("null") => Value::Null,
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let wanted = required.iter().any(|known| known == name);
            if self.roll(20) < if wanted { 19 } else { 12 } {
                object.insert(name.clone(), self.value(property, root, depth + 1));
            }
        }
        // The keys of a map whose keys are numbers.
        for (pattern, property) in schema["patternProperties"].as_object().into_iter().flatten() {
            if pattern == r"^\d+$" || pattern == r"^-?\d+$" {
                for key in ["1", "7"] {
                    object.insert(key.to_owned(), self.value(property, root, depth + 1));
                }
            }
        }
        if schema["additionalProperties"].is_object() {
            for key in ["a", "b"] {
                object.insert(key.to_owned(), self.value(&schema["additionalProperties"], root, depth + 1));
            }
        } else if self.roll(12) == 0 {
            object.insert("unknown".to_owned(), self.anything());
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.value(item, root, depth + 1)).collect();
        }
        let items = schema.get("items").cloned().unwrap_or_default();
        (0..self.roll(4)).map(|_| self.value(&items, root, depth + 1)).collect()
    }

    fn text(&mut self, schema: &Value) -> Value {
        if let Some(examples) = schema["examples"].as_array().filter(|_| self.roll(2) == 0) {
            return self.pick(examples);
        }
        let texts = [
            "",
            "a",
            "Paris",
            "TA164",
            "2026-12-04",
            "user@example.com",
            "a/b.txt",
            "\u{1f600}\u{0}",
            "3",
            "no longer needed",
        ];
        if let Some(text) = schema["format"].as_str().and_then(of_format).filter(|_| self.roll(2) == 0) {
            return Value::from(text);
        }
        match self.roll(16) {
            0 => Value::from("x".repeat(41)),
            1 => Value::from("x".repeat(5000)),
            _ => Value::from(self.pick(&texts)),
        }
    }

    fn number(&mut self, schema: &Value) -> Value {
        let mut numbers = vec![
            json!(0),
            json!(1),
            json!(2),
            json!(7),
            json!(-1),
            json!(1.5),
            json!(3.0),
            json!(256),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e300),
        ];
        for bound in ["minimum", "maximum", "exclusiveMaximum"] {
            if let Some(bound) = schema[bound].as_i64() {
                numbers.extend([json!(bound), json!(bound.saturating_sub(1)), json!(bound.saturating_add(1))]);
            }
        }
        self.pick(&numbers)
    }

    fn anything(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(5),
            json!(-3),
            json!(2.5),
            json!("x"),
            json!(""),
            json!([]),
            json!([1]),
            json!({}),
            json!({"a": 1}),
        ];
        self.pick(&values)
    }
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-12-04",
        "time" => "10:20:30Z",
        "date-time" => "2026-12-04T10:20:30Z",
        "duration" => "PT3S",
        "email" => "user@example.com",
        "uuid" => "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "uri" => "https://example.com/a",
        "ipv4" => "127.0.0.1",
        "ipv6" => "::1",
        "hostname" => "example.com",
        _ => return None,
    })
}

//! That decoder and schema accept the same arguments, with the crate `jsonschema` as the second opinion.
//!
//! The exceptions, each tested by name where it belongs:
//! - `5.0` for an integer: JSON Schema calls it an integer, serde does not, so it is refused.
//! - a parameter, or a field of a struct, given twice: a schema cannot see it, so it is refused (in a map or any other
//!   value the last one counts, except for tools defined at run time, which refuse it everywhere).
//! - depth: each parameter may be nested 127 levels deep, and so may the arguments of a tool defined at run time.
//! - character classes in patterns: `\d` and `\w` are Unicode here and ASCII in ECMA-262.

use serde_json::{Map, Value, json};
use tool_runtime::{CallError, Context, Toolset};

/// Compares decoder and schema on `rounds` arguments for every tool of `tools`, some right, most nearly right.
///
/// # Panics
///
/// When they differ, or when a tool was never given arguments that it accepts, or that it refuses.
pub fn check(tools: &Toolset, rounds: u64) {
    'tools: for tool in tools.iter() {
        let schema = tool.spec().input.neutral();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .unwrap_or_else(|error| panic!("{}: {error}", tool.name()));
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..rounds {
            let mut dice = Dice(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let value = dice.near(schema, schema, 0);
            let text = value.to_string();
            let cx = Context::new("agreement");
            // Validators know more than a schema, which only says what they are asked about: they have tests of their own.
            let Ok(started) = tool.start(&text, &cx).now() else { continue 'tools };
            let ours = match started {
                Ok(_) => true,
                Err(CallError::Rejected(rejection)) => {
                    assert!(!rejection.problems().is_empty());
                    false
                }
                Err(other) => panic!("{} {text}: {other}", tool.name()),
            };
            let theirs = validator.is_valid(&value);
            let excepted = theirs && !ours && has_whole_float(&value);
            assert!(
                ours == theirs || excepted,
                "{} {text}\nours: {ours}, jsonschema: {theirs}\n{schema:#}",
                tool.name()
            );
            *if ours { &mut accepted } else { &mut refused } += 1;
        }
        assert!(accepted > 0, "{}: nothing was accepted", tool.name());
        assert!(refused > 0, "{}: nothing was refused", tool.name());
    }
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(entries) => entries.values().any(has_whole_float),
        _ => false,
    }
}

/// A small source of chance that is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap_or(0)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// A value that nearly fits `schema`.
    fn near(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        if depth > 6 || (depth > 0 && self.roll(12) == 0) {
            return self.anything();
        }
        if let Some(path) = schema["$ref"].as_str() {
            let target = root.pointer(path.trim_start_matches('#')).cloned().unwrap_or_default();
            return self.near(&target, root, depth + 1);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = schema[key].as_array() {
                let branch = self.pick(branches);
                return self.near(&branch, root, depth + 1);
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
                object.insert(name.clone(), self.near(property, root, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() {
            for key in ["a", "b"] {
                object.insert(key.to_owned(), self.near(&schema["additionalProperties"], root, depth + 1));
            }
        } else if self.roll(12) == 0 {
            object.insert("unknown".to_owned(), self.anything());
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.near(item, root, depth + 1)).collect();
        }
        let items = schema.get("items").cloned().unwrap_or_default();
        (0..self.roll(4)).map(|_| self.near(&items, root, depth + 1)).collect()
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

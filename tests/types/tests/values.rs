//! Values that fit a schema, or nearly do.

use serde_json::{Map, Value, json};

/// A small pseudo-random generator with reproducible results.
#[derive(Debug)]
pub struct Dice(u64);

/// Texts, of which each is the form of some type, or nearly.
const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "Oslo",
    "é",
    "\u{1f600}",
    "0",
    "7",
    "-7",
    "007",
    "+7",
    "1.5",
    "1E-7",
    "1e3",
    ".5",
    "5.",
    "-0",
    " 5",
    "5 ",
    "NaN",
    "12.50",
    "0x10",
    "true",
    "null",
    "2026-11-27",
    "2026 - 11 - 27",
    "2026-02-30",
    "2026-11-27T23:30:00",
    "20261127",
    "+2026-11-27",
    "2026-11-27T10:00:00Z",
    "2026-11-27T10:00:00+01:00",
    "2026-11-27t10:00:00z",
    "2026-11-27 10:00:00 UTC",
    "2026-11-27 10:00:00Z",
    "2026-11-27T10:00:00+0100",
    "2026-11-27T10:00:00.5Z",
    "2026-11-27T10:00Z",
    "2026-11-27T10:00:60Z",
    "2026-11-27T10:00:00",
    "2026-11-27T10",
    "2026-11-27T10:00:00+01:00[Europe/Berlin]",
    "2026-11-27T10:00:00[Europe/Berlin]",
    "2026-11-27[Europe/Berlin]",
    "23:30:00",
    "23:30",
    "23:30:00.5",
    "23:30:60",
    "24:00:00",
    "23:30:00Z",
    "T23:30:00",
    "PT3S",
    "PT1.5S",
    "P1W2D",
    "3s",
    "1h 30m",
    "-PT3S",
    "P1Y2M",
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "67E55044-10B1-426F-9247-BB680E5FE0C8",
    "67e5504410b1426f9247bb680e5fe0c8",
    "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
    "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
    "127.0.0.1",
    "127.0.0.256",
    "127.0.0.01",
    "::1",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "127.0.0.1:80",
    "[::1]:80",
    "https://example.org/a",
    "https://example.org/a b",
    "https://exämple.org/ä",
    "example.org",
    "HTTP://EXAMPLE.ORG",
    "mailto:a@b.example",
    "data:,",
    "a@example.com",
    "1.2.3",
    "1.2.3-rc.1+5",
    "1.2",
    "v1.2.3",
    "Mon",
    "monday",
    "Monday",
    "deadbeef",
    "DEADBEEF",
    "abc",
    "Low",
    "Unknown",
    "work-day",
    "WorkDay",
    "/a/b",
    "a\u{0}b",
    "QUFB",
];

impl Dice {
    /// Creates the generator of one round.
    pub fn new(round: u64) -> Self {
        let mut dice = Self((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.roll(2);
        dice
    }

    /// Returns a value that fits `schema`, or nearly fits it.
    pub fn near(&mut self, schema: &Value) -> Value {
        let mut value = self.value(schema, schema, 0);
        for _ in 0..self.roll(3) {
            // Not the arguments themselves, which are always an object with the parameter.
            if let Some(it) = value.get_mut("it") {
                self.change(it);
            }
        }
        value
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap_or(0) % sides.max(1)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// Returns a value for `schema`, a part of `root`.
    fn value(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        if depth > 12 || schema == &json!(true) || schema.as_object().is_some_and(Map::is_empty) {
            return self.anything();
        }
        if let Some(path) = schema["$ref"].as_str() {
            let target = root.pointer(path.trim_start_matches('#')).cloned().unwrap_or_default();
            let mut target = target;
            // Limits beside the reference.
            if let (Value::Object(target), Some(beside)) = (&mut target, schema.as_object()) {
                target.extend(
                    beside
                        .iter()
                        .filter(|(word, _)| *word != "$ref")
                        .map(|(word, limit)| (word.clone(), limit.clone())),
                );
            }
            return self.value(&target, root, depth + 1);
        }
        let mut parts = Vec::new();
        for word in ["anyOf", "oneOf"] {
            if let Some(members) = schema[word].as_array() {
                let member = self.pick(members);
                parts.push(self.value(&member, root, depth + 1));
            }
        }
        for member in schema["allOf"].as_array().into_iter().flatten() {
            parts.push(self.value(member, root, depth + 1));
        }
        if schema.get("type").is_some()
            || schema.get("enum").is_some()
            || schema.get("const").is_some()
            || parts.is_empty()
        {
            parts.push(self.typed(schema, root, depth));
        }
        // A flattened type: the members of all parts together.
        let mut whole = parts.pop().unwrap_or_default();
        for part in parts {
            match (&mut whole, part) {
                (Value::Object(whole), Value::Object(part)) => whole.extend(part),
                (whole, part) => *whole = part,
            }
        }
        whole
    }

    fn typed(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
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
            Some(kind @ ("integer" | "number")) => self.number(schema, kind == "integer"),
            Some("boolean") => Value::Bool(self.roll(2) == 0),
            Some("null") => Value::Null,
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if required.iter().any(|known| known == name) || (depth < 5 && self.roll(3) > 0) {
                object.insert(name.clone(), self.value(property, root, depth + 1));
            }
        }
        for (pattern, property) in schema["patternProperties"].as_object().into_iter().flatten() {
            for _ in 0..self.roll(3) {
                let name = if pattern.contains('d') {
                    self.pick(&["1", "-1", "0", "255", "4294967296"])
                } else {
                    self.pick(TEXTS)
                };
                object.insert(name.to_owned(), self.value(property, root, depth + 1));
            }
        }
        for word in ["additionalProperties", "unevaluatedProperties"] {
            if schema[word].is_object() {
                for _ in 0..self.roll(3) {
                    let name = match schema["propertyNames"]["enum"].as_array() {
                        Some(names) => self.pick(names).as_str().unwrap_or_default().to_owned(),
                        None => self.pick(TEXTS).to_owned(),
                    };
                    object.insert(name, self.value(&schema[word], root, depth + 1));
                }
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let mut items: Vec<Value> = Vec::new();
        for item in schema["prefixItems"].as_array().into_iter().flatten() {
            items.push(self.value(item, root, depth + 1));
        }
        if !items.is_empty() {
            return items.into();
        }
        let limit = |word: &str| schema[word].as_u64().and_then(|count| usize::try_from(count).ok());
        let least = limit("minItems").unwrap_or(0);
        let most = limit("maxItems").unwrap_or(if depth > 5 { 0 } else { 3 });
        let item = schema.get("items").cloned().unwrap_or_default();
        let count = least + self.roll(most.saturating_sub(least) + 1);
        (0..count).map(|_| self.value(&item, root, depth + 1)).collect()
    }

    fn text(&mut self, schema: &Value) -> Value {
        let right: &[&str] = match schema["format"].as_str() {
            Some("date") => &["2026-11-27", "1970-01-01"],
            Some("date-time") => &["2026-11-27T10:00:00Z", "2026-11-27T10:00:00.5+01:00"],
            Some("partial-date-time") => &["2026-11-27T10:00:00", "2026-11-27T10:00:00.5"],
            Some("zoned-date-time") => &["2026-11-27T10:00:00+01:00[Europe/Berlin]"],
            Some("partial-time") => &["10:00:00", "10:00:00.5"],
            Some("duration") => &["PT3S", "PT1H2M"],
            Some("uuid") => &["67e55044-10b1-426f-9247-bb680e5fe0c8"],
            Some("uri") => &["https://example.org/a"],
            Some("email") => &["a@example.com"],
            Some("ip" | "ipv4") => &["127.0.0.1"],
            Some("ipv6") => &["::1"],
            _ if schema["maxLength"].is_u64() => &["x", "é"],
            _ => &["abc", "12.50", "1.2.3", "7", "deadbeef"],
        };
        if self.roll(3) > 0 { self.pick(right).into() } else { self.pick(TEXTS).into() }
    }

    fn number(&mut self, schema: &Value, is_integer: bool) -> Value {
        let mut numbers: Vec<Value> = (0..4).map(|_| json!(self.roll(10))).collect();
        numbers.extend([
            json!(3.0),
            json!(-1),
            json!(1.5),
            json!(256),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e10),
            json!(-0.0),
        ]);
        if !is_integer {
            numbers.extend([json!(0.1), json!(-2.5), json!(1e300)]);
        }
        for bound in ["minimum", "maximum", "exclusiveMaximum", "exclusiveMinimum"] {
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
            json!(3.0),
            json!(500),
            json!("x"),
            json!(""),
            json!([]),
            json!([1]),
            json!([1, "x"]),
            json!({}),
            json!({"a": 1}),
            json!({"Light": null}),
            json!({"Heavy": 1}),
            json!({"kind": "Nothing"}),
        ];
        if self.roll(4) == 0 { self.pick(TEXTS).into() } else { self.pick(&values) }
    }

    /// Changes a random part of `value`.
    fn change(&mut self, value: &mut Value) {
        let deeper = self.roll(3) > 0;
        match value {
            Value::Object(members) if deeper && !members.is_empty() => {
                let index = self.roll(members.len());
                if let Some((_, member)) = members.iter_mut().nth(index) {
                    self.change(member);
                }
            }
            Value::Array(items) if deeper && !items.is_empty() => {
                let index = self.roll(items.len());
                self.change(&mut items[index]);
            }
            Value::Object(members) => match self.roll(5) {
                0 => {
                    let index = self.roll(members.len());
                    let name = members.keys().nth(index).cloned().unwrap_or_default();
                    members.shift_remove(&name);
                }
                1 => {
                    let names = [
                        "more", "userName", "colour", "Light", "Heavy", "kind", "c", "least", "name", "1", "01", "-0",
                        "x",
                    ];
                    let name = self.pick(&names);
                    members.insert(name.to_owned(), self.anything());
                }
                2 => *value = members.values().cloned().collect(),
                3 => *value = members.keys().next().map(|name| json!(name)).unwrap_or_default(),
                _ => *value = self.anything(),
            },
            Value::Array(items) => match self.roll(4) {
                0 => drop(items.pop()),
                1 => items.extend(items.clone()),
                2 => items.push(self.anything()),
                _ => *value = self.anything(),
            },
            Value::String(text) => match self.roll(4) {
                0 => *value = json!({ text.as_str(): null }),
                1 => *value = format!("{text} ").into(),
                _ => *value = self.pick(TEXTS).into(),
            },
            Value::Number(number) => match self.roll(4) {
                0 => *value = json!(number.to_string()),
                // A larger float has another value than its digits.
                1 if number.as_f64().is_some_and(|float| float.abs() < 2_f64.powi(53)) => {
                    *value = json!(number.as_f64());
                }
                2 => *value = json!(300),
                _ => *value = self.anything(),
            },
            _ => *value = self.anything(),
        }
    }
}

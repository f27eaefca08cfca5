//! Values that are made up from a schema: those that fit it, and those that nearly do.

mod near_misses;
mod pattern_text;

use serde_json::{Map, Value, json};

use super::CompiledSchema;
pub use near_misses::{NearMiss, near_misses};
use pattern_text::pattern_text;

/// A generator of values for a schema. The same number of a round gives the same values.
#[derive(Debug)]
pub struct Sampler {
    state: u64,
    /// Set if values must fit wherever the sampler knows how.
    is_exact: bool,
}

/// The number of values that [`Sampler::valid`] tries.
const TRIES: usize = 500;

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

impl Sampler {
    /// Creates the generator of one round.
    pub fn new(round: u64) -> Self {
        let state = round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut sampler = Self { state, is_exact: false };
        sampler.roll(2);
        sampler
    }

    /// Returns a value that fits `schema`, or nearly fits it. If the schema is that of an object, the value is one.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::schema::{CompiledSchema, Sampler};
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]});
    /// let compiled = CompiledSchema::compile(&schema).unwrap();
    /// let values: Vec<_> = (0..50).map(|round| Sampler::new(round).near(&schema)).collect();
    /// assert!(values.iter().any(|value| compiled.is_valid(value)) && values.iter().any(|value| !compiled.is_valid(value)));
    /// ```
    pub fn near(&mut self, schema: &Value) -> Value {
        let mut value = self.value(schema, schema, 0);
        for _ in 0..self.roll(3) {
            if let Some(members) = value.as_object_mut() {
                self.change_member(members);
            }
        }
        value
    }

    /// Writes some of the values inside `value` in another form: numbers, booleans and objects as texts, texts in capitals, and lists of one
    /// item as the item.
    #[doc(hidden)]
    pub fn disguise(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => members.values_mut().for_each(|member| self.disguise(member)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.disguise(item)),
            _ => {}
        }
        if self.roll(6) > 0 {
            return;
        }
        *value = match std::mem::take(value) {
            Value::String(text) => text.to_uppercase().replace('_', "-").into(),
            Value::Array(mut items) if items.len() == 1 => items.remove(0),
            Value::Null => Value::Null,
            other => other.to_string().into(),
        };
    }

    /// Returns a value that `schema` accepts, or `None` if the sampler finds none. `compiled` is the same schema.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::schema::{CompiledSchema, Sampler};
    ///
    /// let schema = json!({"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}}, "required": ["code"]});
    /// let compiled = CompiledSchema::compile(&schema).unwrap();
    /// assert!(Sampler::new(0).valid(&schema, &compiled).is_some());
    /// ```
    pub fn valid(&mut self, schema: &Value, compiled: &CompiledSchema) -> Option<Value> {
        self.is_exact = true;
        let found = (0..TRIES).map(|_| self.value(schema, schema, 0)).find(|value| compiled.is_valid(value));
        self.is_exact = false;
        found
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap_or(0) % sides.max(1)
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
        if let Some(examples) =
            schema["examples"].as_array().filter(|examples| !examples.is_empty() && self.roll(2) == 0)
        {
            return self.pick(examples);
        }
        if let Some(pattern) = schema["pattern"].as_str()
            && (self.is_exact || self.roll(2) == 0)
            && let Some(text) = pattern_text(pattern, |sides| self.roll(sides))
        {
            return text.into();
        }
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
            Some("time") => &["10:00:00Z"],
            Some("hostname") => &["example.org"],
            _ if schema["maxLength"].is_u64() => &["x", "é"],
            _ => &["abc", "12.50", "1.2.3", "7", "deadbeef"],
        };
        if !self.is_exact && self.roll(2) == 0 {
            return self.pick(TEXTS).into();
        }
        let text = self.pick(right);
        let length = |word: &str| schema[word].as_u64().and_then(|length| usize::try_from(length).ok());
        match (length("minLength"), length("maxLength")) {
            (Some(least), _) if text.chars().count() < least && least < 10_000 => "x".repeat(least).into(),
            (_, Some(most)) if text.chars().count() > most => text.chars().take(most).collect::<String>().into(),
            _ => text.into(),
        }
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
            } else if let Some(bound) = schema[bound].as_f64().filter(|_| !is_integer) {
                numbers.extend([bound.next_down(), bound, bound.next_up()].map(|number| json!(number)));
            }
        }
        numbers.extend(schema.get("multipleOf").cloned());
        if self.is_exact
            && let Ok(alone) = CompiledSchema::compile(&limits_of(schema))
        {
            numbers.retain(|number| alone.is_valid(number));
        }
        if numbers.is_empty() { json!(0) } else { self.pick(&numbers) }
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

    /// Changes a part of one member. Sometimes it adds or removes one.
    fn change_member(&mut self, members: &mut Map<String, Value>) {
        let index = self.roll(members.len());
        match (self.roll(8), members.iter_mut().nth(index)) {
            (0, Some((name, _))) => {
                let name = name.clone();
                members.shift_remove(&name);
            }
            (1, _) => drop(members.insert("unknown".to_owned(), self.anything())),
            (_, Some((_, member))) => self.change(member),
            (_, None) => {}
        }
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

/// Returns the part of the schema of a number that limits it.
fn limits_of(schema: &Value) -> Value {
    let words = ["type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let limits = words.iter().filter_map(|word| Some(((*word).to_owned(), schema.get(word)?.clone())));
    Value::Object(limits.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::testing;

    proptest! {
        #[test]
        fn near_misses_are_refused_and_valid_values_accepted(schema in testing::schema(), round in any::<u64>()) {
            let Ok(compiled) = CompiledSchema::compile(&schema) else { return Ok(()) };
            let Some(valid) = Sampler::new(round).valid(&schema, &compiled) else { return Ok(()) };
            prop_assert!(compiled.is_valid(&valid), "{valid}: {schema}");
            for NearMiss { keyword, place, value } in near_misses(&schema, &compiled, &valid) {
                prop_assert!(!compiled.is_valid(&value), "{keyword} {place} {value}: {schema}");
                prop_assert!(valid.pointer(&place).is_some(), "{place} in {valid}");
            }
        }
    }

    #[test]
    fn each_limit_is_missed_once() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["n", "t"], "properties": {
            "n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2},
            "t": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]*$"},
            "f": {"type": "number", "maximum": 0.5},
            "d": {"type": "string", "format": "date"},
            "e": {"enum": ["a", "b"]},
            "l": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
        }});
        let valid = json!({"n": 4, "t": "ab", "f": 0.25, "d": "2026-11-28", "e": "a", "l": [true]});
        let compiled = CompiledSchema::compile(&schema).unwrap();
        let mut missed: Vec<String> = near_misses(&schema, &compiled, &valid)
            .iter()
            .map(|miss| format!("{} {} {}", miss.place, miss.keyword, miss.value.pointer(&miss.place).unwrap()))
            .filter(|line| !line.contains("additionalProperties") && !line.contains("required"))
            .collect();
        missed.sort_unstable();
        let expected = [
            "/d format \"2026-11-28~\"",
            "/d type 7",
            "/e enum \"a_\"",
            "/f maximum 0.5000000000000001",
            "/f type \"text\"",
            "/l maxItems [true,true,true]",
            "/l minItems []",
            "/l type \"text\"",
            "/l uniqueItems [true,true]",
            "/l/0 type \"text\"",
            "/n exclusiveMaximum 10",
            "/n minimum 0",
            "/n multipleOf 5",
            "/n type \"text\"",
            "/n type 4.5",
            "/t maxLength \"abbb\"",
            "/t minLength \"a\"",
            "/t pattern \"ab~\"",
            "/t type 7",
        ];
        assert_eq!(missed, expected);
        let keywords: Vec<_> = near_misses(&schema, &compiled, &valid).into_iter().map(|miss| miss.keyword).collect();
        assert_eq!(keywords.iter().filter(|keyword| **keyword == "required").count(), 2);
        assert!(keywords.contains(&"additionalProperties"));
    }

    #[test]
    fn valid_values_are_found_for_all_kinds_of_schemas() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[A-Z][a-z]{2,5}(-[0-9]+)?$", "minLength": 4}},
                "required": ["a"], "additionalProperties": false}),
            json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 100_000, "maximum": 100_001}}, "required": ["n"]}),
            json!({"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 0.75}}, "required": ["n"]}),
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string", "maxLength": 2, "minLength": 2},
                "minItems": 3, "maxItems": 3}}, "required": ["l"]}),
            json!({"type": "object", "properties": {"t": {"$ref": "#/$defs/tree"}}, "required": ["t"], "$defs": {"tree":
                {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["kids"]}}}),
            json!({"type": "object", "properties": {"u": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}, "d": {"type": "string", "format": "date"}}, "required": ["kind", "d"]}]}},
                "required": ["u"]}),
        ] {
            let compiled = CompiledSchema::compile(&schema).unwrap();
            for round in 0..20 {
                assert!(Sampler::new(round).valid(&schema, &compiled).is_some(), "{schema}");
            }
        }
    }
}

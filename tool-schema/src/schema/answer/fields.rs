//! The parameters of an input, and what may be said of each.

use serde_json::{Map, Value, json};

use super::document::{Document, is_short, object};
use super::form;
use super::moved::moved;
use crate::schema::pointer;

/// The parameters that can be reported on.
#[derive(Default)]
pub(super) struct Fields<'a> {
    input: Option<&'a Value>,
    /// The place of the input's properties in it.
    at: String,
    own: Vec<(&'a str, &'a Value)>,
    more: &'a [(&'a str, &'a Value)],
}

impl<'a> Fields<'a> {
    /// `None` for an input that has no parameters because it is no object with declared properties.
    pub(super) fn of(input: &'a Value, more: &'a [(&'a str, &'a Value)]) -> Option<Self> {
        let (at, schema) = form::target(input);
        match form::properties(schema) {
            Some(own) => {
                let own = own.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
                Some(Self { input: Some(input), at: pointer::push(&at, "properties"), own, more })
            }
            None if more.is_empty() => None,
            None => Some(Self { input: Some(input), more, ..Self::default() }),
        }
    }

    /// The schema of `validationResults`.
    pub(super) fn reports(&self, document: &mut Document) -> Value {
        let mut properties = Map::new();
        let own = self.own.iter().map(|&(name, schema)| (name, schema, true));
        let more = self.more.iter().map(|&(name, schema)| (name, schema, false));
        for (name, schema, is_own) in own.chain(more) {
            // What the input says itself goes first.
            if properties.contains_key(name) {
                continue;
            }
            let value = self.value(document, name, schema, is_own);
            let report = document.report(&self.names());
            properties.insert(name.to_owned(), of_value(report, &value));
        }
        let is_empty = properties.is_empty();
        let mut schema = object(properties, &[]);
        if !is_empty {
            schema["minProperties"] = 1.into();
        }
        schema
    }

    fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.own.iter().map(|(name, _)| *name).collect();
        for (name, _) in self.more {
            if !names.contains(name) {
                names.push(name);
            }
        }
        names
    }

    /// The schema of a parameter's values, as it is written where it is needed.
    fn value(&self, document: &mut Document, name: &str, schema: &Value, is_own: bool) -> Value {
        const PLACE: &str = "#/$defs/input";
        let moved = |schema| moved(schema, self.input.unwrap_or(&Value::Null), PLACE, true);
        let written = moved(schema);
        if is_short(&written) {
            return written;
        }
        if let Some(input) = self.input {
            document.define("input", |_| moved(input));
        }
        if is_own {
            let place = pointer::encoded(&pointer::push(&self.at, name));
            return json!({ "$ref": format!("{PLACE}{place}") });
        }
        document.define(&format!("input.{name}"), |_| written)
    }
}

/// `report` of a parameter whose values `value` describes.
pub(super) fn of_value(mut report: Value, value: &Value) -> Value {
    if *value != Value::Bool(true) && value.as_object().is_none_or(|map| !map.is_empty()) {
        let items = json!({ "items": value });
        report["properties"] = json!({ "normalizedValue": value, "allowedValues": items, "suggestedValues": items });
    }
    report
}

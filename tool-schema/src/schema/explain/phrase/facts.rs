//! What is known about the values that a schema accepts, from its own keywords and those of what it refers to.

use serde_json::Value;

use super::{Looks, nested};
use crate::feedback::{excerpt, names};
use crate::schema::graph::{Graph, Id};

/// What is known about the values that a schema accepts.
pub(super) struct Facts<'a> {
    graph: &'a Graph,
    /// The schema itself and what it refers to.
    ids: Vec<Id>,
    pub(super) alternatives: &'a [Id],
}

impl<'a> Facts<'a> {
    pub(super) fn of(graph: &'a Graph, id: Id) -> Self {
        let mut ids = vec![id];
        let mut next = 0;
        while let Some(&id) = ids.get(next).filter(|_| ids.len() < 32) {
            next += 1;
            for inner in graph.always(id) {
                if !ids.contains(&inner) {
                    ids.push(inner);
                }
            }
        }
        let lists = ids.iter().map(|id| graph.node(*id)).flat_map(|node| [&node.any_of, &node.one_of]);
        let alternatives = lists.into_iter().find(|list| !list.is_empty()).map_or(&[][..], Vec::as_slice);
        Self { graph, ids, alternatives }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.ids.iter().find_map(|id| self.graph.node(*id).leaf.get(key))
    }

    pub(super) fn types(&self) -> Vec<&'a str> {
        match self.get("type") {
            Some(Value::String(kind)) => return vec![kind],
            Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
            _ => {}
        }
        let nodes = || self.ids.iter().map(|id| self.graph.node(*id));
        if self.has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
            vec!["number"]
        } else if self.has(&["minLength", "maxLength", "pattern", "format"]) {
            vec!["string"]
        } else if nodes().any(|node| !node.properties.is_empty() || !node.required.is_empty()) {
            vec!["object"]
        } else if self.has(&["minItems", "maxItems", "uniqueItems"]) || nodes().any(|node| node.items.is_some()) {
            vec!["array"]
        } else {
            Vec::new()
        }
    }

    /// A bound as it is to be shown.
    fn shown(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| value.is_number()).map(Value::to_string)
    }

    pub(super) fn number(&self, noun: &str) -> String {
        let least = self.shown("minimum");
        let most = self.shown("maximum");
        // In draft 4, `exclusiveMinimum: true` makes `minimum` the bound itself.
        let strict = |key: &str| self.get(key) == Some(&Value::Bool(true));
        let (above, least) =
            if strict("exclusiveMinimum") { (least, None) } else { (self.shown("exclusiveMinimum"), least) };
        let (below, most) =
            if strict("exclusiveMaximum") { (most, None) } else { (self.shown("exclusiveMaximum"), most) };
        let mut bounds = Vec::new();
        match (&least, &most) {
            (Some(least), Some(most)) => bounds.push(format!("from {least} to {most}")),
            (Some(least), None) => bounds.push(format!("of at least {least}")),
            (None, Some(most)) => bounds.push(format!("of at most {most}")),
            (None, None) => {}
        }
        bounds.extend(above.map(|bound| format!("greater than {bound}")));
        bounds.extend(below.map(|bound| format!("less than {bound}")));
        if let Some(step) = self.shown("multipleOf") {
            bounds.push(format!("that is a multiple of {step}"));
        }
        if bounds.is_empty() { noun.to_owned() } else { format!("{noun} {}", bounds.join(" and ")) }
    }

    pub(super) fn text(&self) -> String {
        let mut text = match self.get("format").and_then(Value::as_str).and_then(format) {
            Some(known) => known.to_owned(),
            None => "a text".to_owned(),
        };
        text = match (self.shown("minLength"), self.shown("maxLength")) {
            (Some(least), None) if least == "1" => format!("{text} that is not empty"),
            _ => self.sized(&text, "characters", "minLength", "maxLength"),
        };
        if let Some(pattern) = self.get("pattern").and_then(Value::as_str) {
            let and = if text.contains(" that ") { "and " } else { "that " };
            text = format!("{text} {and}matches `{}`", excerpt(pattern, 100));
        }
        text
    }

    pub(super) fn sized(&self, noun: &str, what: &str, least: &str, most: &str) -> String {
        let one = |count: &str| if count == "1" { what.trim_end_matches('s').to_owned() } else { what.to_owned() };
        match (self.shown(least), self.shown(most)) {
            (Some(least), Some(most)) if least == most => format!("{noun} of exactly {least} {}", one(&least)),
            (Some(least), Some(most)) => format!("{noun} of {least} to {most} {what}"),
            (Some(least), None) => format!("{noun} of at least {least} {}", one(&least)),
            (None, Some(most)) => format!("{noun} of at most {most} {}", one(&most)),
            (None, None) => noun.to_owned(),
        }
    }

    pub(super) fn list(&self, depth: usize, looks: &Looks) -> String {
        let sized = |items| self.sized("a list", items, "minItems", "maxItems");
        let items = self.ids.iter().find_map(|id| self.graph.node(*id).items);
        let item = items.filter(|_| depth > 0).map(|items| nested(self.graph, items, depth - 1, looks));
        let (list, plain) = (sized("items"), !self.has(&["minItems", "maxItems"]));
        let several = match item.as_deref() {
            None | Some("any value" | "nothing") => return list,
            Some("a text") => "texts",
            Some("a number") => "numbers",
            Some("a whole number") => "whole numbers",
            Some("an object") => "objects",
            Some(item) => return format!("{list}, each {item}"),
        };
        if plain { format!("a list of {several}") } else { sized(several) }
    }

    fn has(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.get(key).is_some())
    }

    pub(super) fn object(&self) -> String {
        let mut required: Vec<&str> = Vec::new();
        for name in self.ids.iter().flat_map(|id| &self.graph.node(*id).required) {
            if !required.contains(&name.as_str()) {
                required.push(name);
            }
        }
        if required.is_empty() { "an object".to_owned() } else { format!("an object with {}", names(required, "and")) }
    }
}

/// The formats of JSON Schema in words.
fn format(name: &str) -> Option<&'static str> {
    Some(match name {
        "date-time" => "a date and time with its offset, such as 2025-01-31T12:00:00Z",
        "date" => "a date such as 2025-01-31",
        "time" => "a time with its offset, such as 12:00:00Z",
        "duration" => "a duration such as P1DT2H",
        "email" | "idn-email" => "an e-mail address",
        "hostname" | "idn-hostname" => "a host name",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "uri" | "iri" => "a URI with its scheme, such as https://example.com/",
        "uri-reference" | "iri-reference" => "a URI or a relative reference",
        "uri-template" => "a URI template",
        "uuid" => "a UUID",
        "json-pointer" => "a JSON Pointer",
        "relative-json-pointer" => "a relative JSON Pointer",
        "regex" => "a regular expression",
        _ => return None,
    })
}

//! Objects: what several schemas say about properties.

use serde_json::Value;

use super::{
    At, Form, Limit, Object, Property, Reader, Rest,
    gather::Item,
    settle::{Plain, place_of},
};
use crate::schema::{Severity, pointer};

impl<'a> Reader<'a> {
    pub(super) fn object(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<Limit>, level: usize) -> Form {
        let mut names: Vec<(&'a str, bool)> = Vec::new();
        let mut declared = false;
        for (schema, _) in plain {
            let known = schema.get("properties").and_then(Value::as_object);
            declared |= known.is_some();
            let required =
                schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let known = known.into_iter().flat_map(|known| known.keys()).map(|name| (name.as_str(), false));
            for (name, needed) in known.chain(required.map(|name| (name, true))) {
                match names.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, required)) => *required |= needed,
                    None => names.push((name, needed)),
                }
            }
        }
        let mut properties = Vec::new();
        for (name, required) in names {
            let items = plain.iter().filter_map(|(schema, at)| said_of(schema, at, name)).collect::<Vec<_>>();
            let place = if items.is_empty() { at.clone() } else { place_of(&items, at) };
            let shape = self.shape(place, items, level + 1);
            if shape.form != Form::Never {
                properties.push(Property { name: name.to_owned(), required, shape });
            }
        }
        let rest = self.rest(at, plain, level);
        let closed = matches!(rest, Rest::None);
        for (schema, at) in plain {
            if schema.get("patternProperties").and_then(Value::as_object).is_some_and(|map| !map.is_empty()) {
                let (severity, note) = if closed {
                    (Severity::Narrowed, "properties named by a pattern: none is allowed")
                } else {
                    (Severity::Weakened, "properties named by a pattern: left out")
                };
                self.losses.add(at, "patternProperties", severity, note);
            }
        }
        Form::Object(Object { properties, declared, rest, limits })
    }

    fn rest(&mut self, at: &At, plain: &Plain<'a>, level: usize) -> Rest {
        let said: Vec<_> = plain.iter().filter_map(|(schema, at)| others(schema, at)).collect();
        if said.is_empty() {
            return Rest::Unsaid;
        }
        if said.iter().any(|item| matches!(item, Item::Whole(Value::Bool(false), _))) {
            return Rest::None;
        }
        let place = place_of(&said, at);
        let shape = self.shape(place, said, level + 1);
        match shape.form {
            Form::Any => Rest::Open,
            Form::Never => Rest::None,
            _ => Rest::Of(Box::new(shape)),
        }
    }
}

/// What `schema` says about the property called `name`.
fn said_of<'a>(schema: &'a serde_json::Map<String, Value>, at: &At, name: &str) -> Option<Item<'a>> {
    if let Some(own) = schema.get("properties").and_then(|known| known.get(name)) {
        return Some(Item::Whole(own, pointer::push(&pointer::push(at, "properties"), name).into()));
    }
    // A pattern may allow the name: then what is said about the others is not about it.
    if schema.get("patternProperties").and_then(Value::as_object).is_some_and(|map| !map.is_empty()) {
        return None;
    }
    others(schema, at).filter(|_| schema.contains_key("additionalProperties"))
}

/// What `schema` says about properties that it does not name.
fn others<'a>(schema: &'a serde_json::Map<String, Value>, at: &At) -> Option<Item<'a>> {
    let word = ["additionalProperties", "unevaluatedProperties"].into_iter().find(|word| schema.contains_key(*word))?;
    Some(Item::Whole(&schema[word], pointer::push(at, word).into()))
}

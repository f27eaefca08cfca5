//! Objects: what several schemas say about properties.

use serde_json::{Map, Value};

use super::{
    At, Form, Limit, Object, Property, Reader, Rest, Shape,
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
        for (schema, at) in plain {
            if patterns(schema).is_some() {
                let note = "names that fit a pattern: taken without looking at the name";
                self.losses.add(at, "patternProperties", Severity::Weakened, note);
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
            return self.patterned(at, plain, level);
        }
        let place = place_of(&said, at);
        let shape = self.shape(place, said, level + 1);
        match shape.form {
            Form::Any => Rest::Open,
            Form::Never => Rest::None,
            _ => Rest::Of(Box::new(shape)),
        }
    }

    /// The rest where it is closed, but for names that fit a pattern: what any of the patterns takes.
    fn patterned(&mut self, at: &At, plain: &Plain<'a>, level: usize) -> Rest {
        let closed =
            plain.iter().filter(|(schema, at)| matches!(others(schema, at), Some(Item::Whole(Value::Bool(false), _))));
        let Some(all) = closed.map(|(schema, at)| Some((patterns(schema)?, at))).collect::<Option<Vec<_>>>() else {
            return Rest::None;
        };
        let mut shapes = Vec::new();
        for (patterns, at) in all {
            let at = pointer::push(at, "patternProperties");
            for (pattern, schema) in patterns {
                let at: At = pointer::push(&at, pattern).into();
                shapes.push(self.shape(at.clone(), vec![Item::Whole(schema, at)], level + 1));
            }
        }
        match Shape::union(at, shapes) {
            Shape { form: Form::Any, .. } => Rest::Open,
            Shape { form: Form::Never, .. } => Rest::None,
            shape => Rest::Of(Box::new(shape)),
        }
    }
}

fn patterns(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("patternProperties").and_then(Value::as_object).filter(|patterns| !patterns.is_empty())
}

/// What `schema` says about the property called `name`.
fn said_of<'a>(schema: &'a Map<String, Value>, at: &At, name: &str) -> Option<Item<'a>> {
    if let Some(own) = schema.get("properties").and_then(|known| known.get(name)) {
        return Some(Item::Whole(own, pointer::push(&pointer::push(at, "properties"), name).into()));
    }
    // A pattern may allow the name: then what is said about the others is not about it.
    if patterns(schema).is_some() {
        return None;
    }
    others(schema, at).filter(|_| schema.contains_key("additionalProperties"))
}

/// What `schema` says about properties that it does not name.
fn others<'a>(schema: &'a Map<String, Value>, at: &At) -> Option<Item<'a>> {
    let word = ["additionalProperties", "unevaluatedProperties"].into_iter().find(|word| schema.contains_key(*word))?;
    Some(Item::Whole(&schema[word], pointer::push(at, word).into()))
}

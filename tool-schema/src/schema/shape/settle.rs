//! From plain schemas that hold at once to a form.

use serde_json::{Map, Value};

use super::{
    Array, At, Form, Kind, Notes, Object, Property, Reader, Rest, Scalar, Shape,
    gather::{Item, is_combination},
    kinds, limits,
};
use crate::schema::{Severity, number, pointer, words};

/// Schemas without references and combinations, with their places.
pub(super) type Plain<'a> = [(&'a Map<String, Value>, At)];

impl<'a> Reader<'a> {
    pub(super) fn settle(&mut self, at: &At, plain: &Plain<'a>, notes: &mut Notes, level: usize) -> Form {
        for (schema, at) in plain {
            self.lose_unspoken(schema, at, notes);
        }
        let types = plain.iter().filter_map(|(schema, _)| kinds::allowed(schema)).reduce(|a, b| kinds::common(&a, &b));
        if let Some(mut values) = listed(plain) {
            if let Some(types) = &types {
                values.retain(|value| types.iter().any(|kind| Kind::of(value).is_a(*kind)));
            }
            let shapes = values.iter().map(|value| literal(at, value)).collect();
            let union = Shape::union(at, shapes);
            notes.hints.extend(union.notes.hints);
            return union.form;
        }
        let mut kinds = match types {
            Some(types) => kinds::simplified(types),
            None => match self.assumed(at, plain) {
                Some(kinds) => kinds,
                None => return Form::Any,
            },
        };
        // Null comes last: the others say more.
        kinds.sort_by_key(|kind| *kind == Kind::Null);
        let mut forms: Vec<Form> = kinds.into_iter().map(|kind| self.of_kind(kind, at, plain, level)).collect();
        match forms.len() {
            0 => Form::Never,
            1 => forms.remove(0),
            _ => Shape::union(at, forms.into_iter().map(|form| Shape::new(at.clone(), form)).collect()).form,
        }
    }

    /// The kinds that schemas without a `type` mean: those of which they speak. None if they speak of none.
    fn assumed(&mut self, at: &At, plain: &Plain<'a>) -> Option<Vec<Kind>> {
        let mut found = Vec::new();
        for kind in plain.iter().flat_map(|(schema, _)| schema.keys()).filter_map(|word| Kind::of_word(word)) {
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        if found.is_empty() {
            return None;
        }
        let names = found.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
        self.losses.add(at, "type", Severity::Narrowed, format!("not given: taken as {names}"));
        Some(found)
    }

    fn of_kind(&mut self, kind: Kind, at: &At, plain: &Plain<'a>, level: usize) -> Form {
        let limits = limits::of(kind, plain, self.draft, &mut self.losses);
        match kind {
            Kind::Object => self.object(at, plain, limits, level),
            Kind::Array => self.array(at, plain, limits, level),
            _ => Form::Scalar(Scalar { kind, values: None, limits }),
        }
    }

    fn array(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<super::Limit>, level: usize) -> Form {
        let tuples: Vec<Option<&'a Vec<Value>>> = plain.iter().map(|(schema, _)| tuple(schema)).collect();
        let rest = |i: usize| -> Option<Item<'a>> {
            let (schema, at) = &plain[i];
            let word = if schema.get("items").is_some_and(Value::is_array) { "additionalItems" } else { "items" };
            Some(Item::Whole(schema.get(word)?, pointer::push(at, word).into()))
        };
        let most = limits::count(&limits, "maxItems").unwrap_or(u64::MAX);
        let length = tuples.iter().flatten().map(|list| list.len()).max().unwrap_or(0);
        let length = length.min(usize::try_from(most).unwrap_or(usize::MAX));
        let mut prefix = Vec::new();
        for place in 0..length {
            let items: Vec<_> = (0..plain.len())
                .filter_map(|i| match tuples[i].and_then(|list| list.get(place)) {
                    Some(item) => {
                        let word = if plain[i].0.contains_key("prefixItems") { "prefixItems" } else { "items" };
                        Some(Item::Whole(item, format!("{}/{word}/{place}", plain[i].1).into()))
                    }
                    None => rest(i),
                })
                .collect();
            prefix.push(self.shape(place_of(&items, at), items, level + 1));
        }
        let items: Vec<_> = (0..plain.len()).filter_map(rest).collect();
        let items = self.shape(place_of(&items, at), items, level + 1);
        Form::Array(Array { prefix, items: Box::new(items), limits })
    }

    /// The keywords that have no place in a shape.
    fn lose_unspoken(&mut self, schema: &Map<String, Value>, at: &At, notes: &mut Notes) {
        for (word, value) in schema {
            match word.as_str() {
                "not" => {
                    if let Some(values) = value.as_object().filter(|not| not.len() == 1).and_then(one_of) {
                        notes.hints.push(format!(
                            "not {}",
                            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                        ));
                    }
                    self.losses.add(at, word, Severity::Weakened, "left out");
                }
                "if" | "contains" | "minContains" | "maxContains" | "propertyNames" | "dependentRequired"
                | "dependentSchemas" | "dependencies" | "unevaluatedItems" => {
                    self.losses.add(at, word, Severity::Weakened, "left out");
                }
                "type" | "enum" | "const" | "then" | "else" => {}
                _ if Kind::of_word(word).is_some() || words::is_annotation(word) || is_combination(word) => {}
                _ => self.losses.add(at, word, Severity::Annotation, "not a known keyword: left out"),
            }
        }
    }
}

fn tuple(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    schema.get("prefixItems").or_else(|| schema.get("items")).and_then(Value::as_array)
}

/// Where the first of `items` stands; below `at` where there is none.
pub(super) fn place_of(items: &[Item<'_>], at: &At) -> At {
    match items.first() {
        Some(Item::Whole(_, at) | Item::Plain(_, at, _) | Item::Union(_, at, _)) => at.clone(),
        None => at.clone(),
    }
}

/// The values that `schema` lists.
fn one_of(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), None) => Some(values.clone()),
        (Some(Value::Array(values)), Some(only)) => {
            Some(values.iter().filter(|value| number::same(value, only)).cloned().collect())
        }
        (_, Some(only)) => Some(vec![only.clone()]),
        _ => None,
    }
}

/// The values that all schemas which list any have in common.
fn listed(plain: &Plain<'_>) -> Option<Vec<Value>> {
    plain.iter().filter_map(|(schema, _)| one_of(schema)).reduce(|mut a, b| {
        a.retain(|value| b.iter().any(|other| number::same(value, other)));
        a
    })
}

/// The shape of one value.
fn literal(at: &At, value: &Value) -> Shape {
    let form = match value {
        Value::Array(list) => Form::Array(Array {
            prefix: list.iter().map(|item| literal(at, item)).collect(),
            items: Box::new(Shape::new(at.clone(), Form::Never)),
            limits: ["minItems", "maxItems"]
                .map(|word| super::Limit { at: at.clone(), word, value: list.len().into() })
                .into(),
        }),
        Value::Object(map) => Form::Object(Object {
            properties: map
                .iter()
                .map(|(name, value)| Property { name: name.clone(), required: true, shape: literal(at, value) })
                .collect(),
            declared: true,
            rest: Rest::None,
            limits: Vec::new(),
        }),
        Value::Null => Form::Scalar(Scalar { kind: Kind::Null, values: None, limits: Vec::new() }),
        scalar => {
            Form::Scalar(Scalar { kind: Kind::of(scalar), values: Some(vec![scalar.clone()]), limits: Vec::new() })
        }
    };
    Shape::new(at.clone(), form)
}

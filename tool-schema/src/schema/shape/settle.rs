//! From plain schemas that hold at once to a form: what they say about objects, lists and limits.

use serde_json::{Map, Value};

use super::{
    Array, At, Form, Kind, Notes, Object, Property, Reader, Rest, Scalar, Shape,
    reader::{Item, is_combination},
};
use crate::schema::{Severity, dialect::Losses, draft::Draft, kind, number, pointer, words};

/// Schemas without references and combinations, with their places.
type Plain<'a> = [(&'a Map<String, Value>, At)];

impl<'a> Reader<'a> {
    pub(super) fn settle(&mut self, at: &At, plain: &Plain<'a>, notes: &mut Notes, level: usize) -> Form {
        for (schema, at) in plain {
            self.lose_unspoken(schema, at, notes);
        }
        let types =
            plain.iter().filter_map(|(schema, _)| kind::named_kinds(schema)).reduce(|a, b| kind::common(&a, &b));
        if let Some(mut values) = common_values(plain) {
            if let Some(types) = &types {
                values.retain(|value| types.iter().any(|kind| Kind::of(value).is_a(*kind)));
            }
            let shapes = values.iter().map(|value| literal(at, value)).collect();
            let union = Shape::union(at, shapes);
            notes.hints.extend(union.notes.hints);
            return union.form;
        }
        let mut kinds = match types {
            Some(types) => kind::simplify(types),
            None => match self.assume_kinds(at, plain) {
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

    /// Returns the kinds that schemas without a `type` mean: those that their keywords limit; `None` if there are none.
    fn assume_kinds(&mut self, at: &At, plain: &Plain<'a>) -> Option<Vec<Kind>> {
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
        let limits = limits_of(kind, plain, self.draft, &mut self.losses);
        match kind {
            Kind::Object => self.object(at, plain, limits, level),
            Kind::Array => self.array(at, plain, limits, level),
            _ => Form::Scalar(Scalar { kind, values: None, limits }),
        }
    }

    fn array(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<Limit>, level: usize) -> Form {
        let tuples: Vec<Option<&'a Vec<Value>>> = plain.iter().map(|(schema, _)| tuple(schema)).collect();
        let rest = |i: usize| -> Option<Item<'a>> {
            let (schema, at) = &plain[i];
            let word = if schema.get("items").is_some_and(Value::is_array) { "additionalItems" } else { "items" };
            Some(Item::Whole(schema.get(word)?, pointer::push(at, word).into()))
        };
        let most = count(&limits, "maxItems").unwrap_or(u64::MAX);
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

/// Returns where the first of `items` stands; below `at` where there is none.
fn place_of(items: &[Item<'_>], at: &At) -> At {
    match items.first() {
        Some(Item::Whole(_, at) | Item::Plain(_, at, _) | Item::Union(_, at, _)) => at.clone(),
        None => at.clone(),
    }
}

/// Returns the values that `schema` lists.
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

/// Returns the values that all schemas which list any have in common.
fn common_values(plain: &Plain<'_>) -> Option<Vec<Value>> {
    plain.iter().filter_map(|(schema, _)| one_of(schema)).reduce(|mut a, b| {
        a.retain(|value| b.iter().any(|other| number::same(value, other)));
        a
    })
}

/// Returns the shape of one value.
fn literal(at: &At, value: &Value) -> Shape {
    let form = match value {
        Value::Array(list) => Form::Array(Array {
            prefix: list.iter().map(|item| literal(at, item)).collect(),
            items: Box::new(Shape::new(at.clone(), Form::Never)),
            limits: ["minItems", "maxItems"]
                .map(|word| Limit { at: at.clone(), word, value: list.len().into() })
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

impl<'a> Reader<'a> {
    fn object(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<Limit>, level: usize) -> Form {
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
            return self.read_patterns(at, plain, level);
        }
        let place = place_of(&said, at);
        let shape = self.shape(place, said, level + 1);
        match shape.form {
            Form::Any => Rest::Open,
            Form::Never => Rest::None,
            _ => Rest::Of(Box::new(shape)),
        }
    }

    /// Returns the rest where it is closed, but for names that fit a pattern: what any of the patterns takes.
    fn read_patterns(&mut self, at: &At, plain: &Plain<'a>, level: usize) -> Rest {
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

/// Returns the part of `schema` about the property called `name`.
fn said_of<'a>(schema: &'a Map<String, Value>, at: &At, name: &str) -> Option<Item<'a>> {
    if let Some(own) = schema.get("properties").and_then(|known| known.get(name)) {
        return Some(Item::Whole(own, pointer::push(&pointer::push(at, "properties"), name).into()));
    }
    // A pattern may allow the name. Then the schema of the others is not about it.
    if patterns(schema).is_some() {
        return None;
    }
    others(schema, at).filter(|_| schema.contains_key("additionalProperties"))
}

/// Returns the part of `schema` about properties that it does not name.
fn others<'a>(schema: &'a Map<String, Value>, at: &At) -> Option<Item<'a>> {
    let word = ["additionalProperties", "unevaluatedProperties"].into_iter().find(|word| schema.contains_key(*word))?;
    Some(Item::Whole(&schema[word], pointer::push(at, word).into()))
}

/// One limit, such as `"minLength": 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub at: At,
    pub word: &'static str,
    pub value: Value,
}

const LIMITS: [(&str, Rule); 14] = [
    ("minimum", Rule::Most),
    ("exclusiveMinimum", Rule::Most),
    ("maximum", Rule::Least),
    ("exclusiveMaximum", Rule::Least),
    ("multipleOf", Rule::Only),
    ("minLength", Rule::MostCount),
    ("maxLength", Rule::LeastCount),
    ("pattern", Rule::Only),
    ("format", Rule::Only),
    ("minItems", Rule::MostCount),
    ("maxItems", Rule::LeastCount),
    ("uniqueItems", Rule::Flag),
    ("minProperties", Rule::MostCount),
    ("maxProperties", Rule::LeastCount),
];

/// The way to join two limits of one word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Most,
    Least,
    MostCount,
    LeastCount,
    Flag,
    Only,
}

/// Returns the limits that `schemas`, which hold at once, set to values of `kind`.
fn limits_of(kind: Kind, schemas: &[(&Map<String, Value>, At)], draft: Draft, losses: &mut Losses) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for (schema, at) in schemas {
        for (word, rule) in LIMITS {
            if !Kind::of_word(word).is_some_and(|of| kind.is_a(of)) {
                continue;
            }
            let Some(value) = schema.get(word).and_then(|value| read_limit(schema, word, value, rule, draft)) else {
                if schema.contains_key(word) && draft != Draft::Four && schema[word] != Value::Bool(false) {
                    losses.add(at, word, Severity::Annotation, "not a value that this keyword can have: left out");
                }
                continue;
            };
            match limits.iter_mut().find(|limit| limit.word == word) {
                Some(limit) => join_limit(limit, value, at, rule, losses),
                None => limits.push(Limit { at: at.clone(), word, value }),
            }
        }
    }
    limits
}

fn read_limit(schema: &Map<String, Value>, word: &str, value: &Value, rule: Rule, draft: Draft) -> Option<Value> {
    let flagged = |flag: &str| draft == Draft::Four && schema.get(flag) == Some(&Value::Bool(true));
    match word {
        "minimum" if flagged("exclusiveMinimum") => return None,
        "maximum" if flagged("exclusiveMaximum") => return None,
        "exclusiveMinimum" if flagged(word) => return schema.get("minimum").filter(|bound| bound.is_number()).cloned(),
        "exclusiveMaximum" if flagged(word) => return schema.get("maximum").filter(|bound| bound.is_number()).cloned(),
        "multipleOf" => return value.as_f64().is_some_and(|factor| factor > 0.0).then(|| value.clone()),
        _ => {}
    }
    match rule {
        Rule::Most | Rule::Least => value.is_number().then(|| value.clone()),
        Rule::MostCount | Rule::LeastCount => number::count(value).map(Value::from),
        Rule::Flag => (*value == Value::Bool(true)).then(|| value.clone()),
        Rule::Only => value.is_string().then(|| value.clone()),
    }
}

fn join_limit(limit: &mut Limit, value: Value, at: &At, rule: Rule, losses: &mut Losses) {
    let order = match (&limit.value, &value) {
        (Value::Number(old), Value::Number(new)) => number::compare(new, old),
        _ => std::cmp::Ordering::Equal,
    };
    let tighter = match rule {
        Rule::Most | Rule::MostCount => order.is_gt(),
        Rule::Least | Rule::LeastCount => order.is_lt(),
        Rule::Flag => false,
        Rule::Only => {
            if limit.value != value {
                let note = format!("only one `{}` can hold at a time: {value} was left out", limit.word);
                losses.add(at, limit.word, Severity::Weakened, note);
            }
            false
        }
    };
    if tighter {
        (limit.value, limit.at) = (value, at.clone());
    }
}

/// Returns the limit of that word, as a count.
pub fn count(limits: &[Limit], word: &str) -> Option<u64> {
    limits.iter().find(|limit| limit.word == word).and_then(|limit| number::count(&limit.value))
}

//! Arguments in OpenAI's strict form, raised to the neutral one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use serde_json::{Value, value::RawValue};

use super::{
    data,
    shape::{At, Form, Shape},
};
use crate::json::text::parts;

/// The most levels of a value that are looked at.
const LEVELS: usize = 128;

/// Where a `null` only stands for "not given".
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
    root: usize,
}

#[derive(Debug)]
enum Step {
    /// Nothing to take out.
    Keep,
    Object(Vec<Member>),
    Array {
        prefix: Vec<usize>,
        items: usize,
    },
    /// One of these; a reference is one of one.
    Union(Vec<usize>),
}

#[derive(Debug)]
struct Member {
    name: String,
    /// `true` if a `null` is removed.
    strip: bool,
    /// The only values it can have; empty where there are others.
    tags: Vec<Value>,
    next: usize,
}

impl Plan {
    /// Returns a plan for arguments of the shape `root`; `None` if there is nothing to remove anywhere.
    pub fn new(root: &Shape, targets: &BTreeMap<At, Shape>) -> Option<Self> {
        let mut maker = Maker { targets, steps: Vec::new(), known: HashMap::new(), strips: false };
        let root = maker.step(root);
        maker.strips.then_some(Self { steps: maker.steps, root })
    }

    /// Returns `arguments` without what the plan takes out, the rest byte for byte as it was. Text that is not JSON stays.
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let raised = || {
            let raw: &RawValue = serde_json::from_str(arguments).ok()?;
            self.value(self.root, raw.get(), LEVELS)
        };
        if arguments.contains("null") { raised().map_or(arguments.into(), Cow::Owned) } else { arguments.into() }
    }

    /// Returns the changed text of the value `text`, which is JSON; `None` where nothing changes.
    fn value(&self, step: usize, text: &str, levels: usize) -> Option<String> {
        if levels == 0 || !text.contains("null") {
            return None;
        }
        match &self.steps[step] {
            Step::Keep => None,
            Step::Object(members) => self.object(members, text, levels),
            Step::Array { prefix, items } => {
                let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                let step = |i: usize| prefix.get(i).copied().unwrap_or(*items);
                let raised: Vec<_> =
                    list.iter().enumerate().map(|(i, raw)| self.value(step(i), raw.get(), levels - 1)).collect();
                let parts = list.iter().zip(&raised).map(|(raw, raised)| raised.as_deref().unwrap_or(raw.get()));
                let parts: Vec<&str> = parts.collect();
                raised.iter().any(Option::is_some).then(|| format!("[{}]", parts.join(",")))
            }
            Step::Union(members) => self.union(members, text, levels),
        }
    }

    fn object(&self, members: &[Member], text: &str, levels: usize) -> Option<String> {
        let mut kept = Vec::new();
        let mut changed = false;
        for (name, value) in parts(text) {
            let member = members.iter().find(|member| member.name == name);
            if value == "null" && member.is_some_and(|member| member.strip) {
                changed = true;
                continue;
            }
            let raised = member.and_then(|member| self.value(member.next, value, levels - 1));
            changed |= raised.is_some();
            kept.push(format!("{}:{}", Value::from(name), raised.as_deref().unwrap_or(value)));
        }
        changed.then(|| format!("{{{}}}", kept.join(",")))
    }

    /// Raises `text` as the branch that it follows. If several are possible, they must agree on the result.
    fn union(&self, members: &[usize], text: &str, levels: usize) -> Option<String> {
        let mut fitting: Vec<usize> = Vec::new();
        let mut complete: Vec<usize> = Vec::new();
        let entries: Vec<_> = parts(text).collect();
        let mut todo: Vec<usize> = members.iter().rev().copied().collect();
        let mut seen = Vec::new();
        while let Some(step) = todo.pop() {
            match &self.steps[step] {
                Step::Union(inner) if !seen.contains(&step) => {
                    seen.push(step);
                    todo.extend(inner.iter().rev());
                }
                Step::Object(own) if text.starts_with('{') && fits(own, &entries) => {
                    fitting.push(step);
                    if own.iter().all(|member| entries.iter().any(|(name, _)| *name == member.name)) {
                        complete.push(step);
                    }
                }
                Step::Array { .. } if text.starts_with('[') => fitting.push(step),
                _ => {}
            }
        }
        let candidates = if complete.is_empty() { fitting } else { complete };
        let mut results = candidates.into_iter().map(|step| self.value(step, text, levels - 1));
        let first = results.next()??;
        results.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

/// Returns whether `entries` can be those of an object with `members`: all are known, and the tags agree.
fn fits(members: &[Member], entries: &[(Cow<'_, str>, &str)]) -> bool {
    entries.iter().all(|(name, text)| {
        members.iter().find(|member| member.name == *name).is_some_and(|member| {
            member.tags.is_empty()
                || (member.strip && *text == "null")
                || serde_json::from_str::<Value>(text)
                    .is_ok_and(|value| member.tags.iter().any(|tag| data::same(tag, &value)))
        })
    })
}

struct Maker<'a> {
    targets: &'a BTreeMap<At, Shape>,
    steps: Vec<Step>,
    known: HashMap<At, usize>,
    strips: bool,
}

impl<'a> Maker<'a> {
    fn add(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn step(&mut self, shape: &'a Shape) -> usize {
        match &shape.form {
            Form::Object(object) => {
                let members = object.properties.iter().map(|property| {
                    let strip = !property.required && !takes_null(&property.shape, self.targets);
                    self.strips |= strip;
                    let next = self.step(&property.shape);
                    Member { name: property.name.clone(), strip, tags: tags(&property.shape), next }
                });
                let members = members.collect();
                self.add(Step::Object(members))
            }
            Form::Array(array) => {
                let prefix = array.prefix.iter().map(|item| self.step(item)).collect();
                let items = self.step(&array.items);
                self.add(Step::Array { prefix, items })
            }
            Form::Union(members) => {
                let members = members.iter().map(|member| self.step(member)).collect();
                self.add(Step::Union(members))
            }
            Form::Ref(at) => self.target(at),
            Form::Any | Form::Never | Form::Cut(_) | Form::Scalar(_) => self.add(Step::Keep),
        }
    }

    fn target(&mut self, at: &At) -> usize {
        if let Some(&known) = self.known.get(at) {
            return known;
        }
        let place = self.add(Step::Keep);
        self.known.insert(at.clone(), place);
        if let Some(target) = self.targets.get(at) {
            let target = self.step(target);
            self.steps[place] = Step::Union(vec![target]);
        }
        place
    }
}

fn tags(shape: &Shape) -> Vec<Value> {
    match &shape.form {
        Form::Scalar(scalar) => scalar.values.clone().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns whether `null` is valid.
pub fn takes_null(shape: &Shape, targets: &BTreeMap<At, Shape>) -> bool {
    let mut seen: Vec<&At> = Vec::new();
    let mut todo = vec![shape];
    while let Some(shape) = todo.pop() {
        match &shape.form {
            Form::Any => return true,
            Form::Scalar(_) if shape.is_null() => return true,
            Form::Union(members) => todo.extend(members),
            Form::Ref(at) if !seen.contains(&at) => {
                seen.push(at);
                todo.extend(targets.get(at));
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::schema::{Dialect, Schema};

    fn raised(schema: &Value, arguments: &str) -> String {
        Schema::new(schema.clone()).lowered(Dialect::OpenAiStrict).raise(arguments).into_owned()
    }

    fn order() -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "note": {"type": "string"},
                "gift": {"type": ["string", "null"]},
                "item": {"$ref": "#/$defs/Item"},
                "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/Item"}], "items": false},
                "pay": {"oneOf": [
                    {"type": "object", "properties": {"by": {"const": "card"}, "holder": {"type": "string"}, "pin": {"type": "null"}}, "required": ["by"]},
                    {"type": "object", "properties": {"by": {"const": "cash"}, "holder": {"type": ["string", "null"]}}, "required": ["by"]},
                ]},
            },
            "required": ["id"],
            "$defs": {"Item": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
                "required": ["sku"],
            }},
        })
    }

    #[test]
    fn only_nulls_that_stand_for_nothing_are_taken_out() {
        let cases = [
            (r#"{"id":"a","note":null,"gift":null}"#, r#"{"id":"a","gift":null}"#),
            (r#"{"id":null,"note":"null"}"#, r#"{"id":null,"note":"null"}"#),
            (r#"{"id":"a", "item": {"sku": "s", "count": null, "parts": null}}"#, r#"{"id":"a","item":{"sku":"s"}}"#),
            (
                r#"{"items":[{"sku":"s","count":1.50},{"sku":"t","count":null,"parts":[{"sku":"u","count":null}]}]}"#,
                r#"{"items":[{"sku":"s","count":1.50},{"sku":"t","parts":[{"sku":"u"}]}]}"#,
            ),
            (r#"{"pair":["s",{"sku":"s","count":null}]}"#, r#"{"pair":["s",{"sku":"s"}]}"#),
            (r#"{"pay":{"by":"card","holder":null,"pin":null}}"#, r#"{"pay":{"by":"card","pin":null}}"#),
            (r#"{"pay":{"by":"cash","holder":null}}"#, r#"{"pay":{"by":"cash","holder":null}}"#),
            (r#"{"pay":{"by":"coin","holder":null}}"#, r#"{"pay":{"by":"coin","holder":null}}"#),
            (r#"{"unknown":null,"note":null,"note":null}"#, r#"{"unknown":null}"#),
            (r#"{"n\u006fte":null,"id":"\u00e9"}"#, r#"{"id":"\u00e9"}"#),
            ("{\"note\":null", "{\"note\":null"),
            ("null", "null"),
            ("", ""),
        ];
        for (given, expected) in cases {
            assert_eq!(raised(&order(), given), expected, "{given}");
        }
    }

    #[test]
    fn what_needs_nothing_is_borrowed() {
        let schema = Schema::new(order());
        let strict = schema.lowered(Dialect::OpenAiStrict);
        for text in [r#"{"id":"a"}"#, r#"{"id":"null"}"#, r#"{"gift":null}"#, "not json, null"] {
            assert!(matches!(strict.raise(text), std::borrow::Cow::Borrowed(_)), "{text}");
        }
        let other = schema.lowered(Dialect::Draft07);
        assert_eq!(other.raise(r#"{"note":null}"#), r#"{"note":null}"#);
    }

    #[test]
    fn an_unclear_branch_is_left_alone() {
        let schema = json!({"type": "object", "properties": {"x": {"anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}},
        ]}}});
        assert_eq!(raised(&schema, r#"{"x":{"a":null,"b":"b"}}"#), r#"{"x":{"a":null,"b":"b"}}"#);
        assert_eq!(raised(&schema, r#"{"x":{"a":"a","b":null}}"#), r#"{"x":{"a":"a"}}"#);
    }

    #[test]
    fn deep_text_needs_no_stack() {
        let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L"}}, "$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}}});
        let text = format!("{{\"x\":{}null{}}}", "[".repeat(20_000), "]".repeat(20_000));
        assert_eq!(raised(&schema, &text), text);
    }

    proptest! {
        #[test]
        fn raising_gives_back_what_was_filled_up(note in any::<Option<String>>(), gift in any::<Option<Option<String>>>(), count in any::<Option<i32>>()) {
            let mut original = json!({"id": "a", "items": [{"sku": "s"}]});
            let mut filled = json!({"id": "a", "note": note, "gift": gift, "item": null, "pair": null, "pay": null,
                "items": [{"sku": "s", "count": count, "parts": null}]});
            if let Some(note) = note { original["note"] = note.into(); }
            match gift {
                // `gift` takes a null of its own: it is not for us to take it out.
                Some(gift) => original["gift"] = gift.into(),
                None => { filled.as_object_mut().unwrap().remove("gift"); }
            }
            if let Some(count) = count { original["items"][0]["count"] = count.into(); }
            let raised: Value = serde_json::from_str(&raised(&order(), &filled.to_string())).unwrap();
            prop_assert_eq!(raised, original);
        }

        #[test]
        fn any_text_is_survived(text in "[\\[\\]{}\",:a-z0-9nul ]{0,60}") {
            let _ = raised(&order(), &text);
        }
    }
}

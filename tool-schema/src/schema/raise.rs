//! Raising, the reverse of lowering: it converts arguments from OpenAI's strict form to the form of the neutral schema.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Value, value::RawValue};

use super::{
    data,
    shape::{At, Form, Object, Property, Scalar, Shape},
};
use crate::json::text::raw_entries;

/// The name of the only property of an object that wraps the arguments, in the portable form.
pub const WRAPPER: &str = "value";

/// A conversion of arguments for a lowered schema into arguments for the neutral one.
#[derive(Debug)]
pub enum Raiser {
    /// Removes nulls that mean "not given".
    Nulls(Box<NullRemover>),
    /// Takes the arguments out of the object that wraps them.
    Unwrap,
}

impl Raiser {
    /// Returns the converted `arguments`. Arguments of another form, and text that is not JSON, stay unchanged.
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        match self {
            Self::Nulls(null_remover) => null_remover.raise(arguments),
            Self::Unwrap => unwrap(arguments).map_or(arguments.into(), |text| text.get().to_owned().into()),
        }
    }
}

fn unwrap(arguments: &str) -> Option<Box<RawValue>> {
    let mut entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(arguments).ok()?;
    (entries.len() == 1).then(|| entries.remove(WRAPPER)).flatten()
}

/// The maximum nesting of values that is processed. A union or reference on the way to a value counts as one more level.
const MAX_NESTING: usize = 128;

/// A converter of arguments. It removes each `null` whose property is optional and does not accept `null`. Such a `null` means
/// "not given".
#[derive(Debug)]
pub struct NullRemover {
    root: Shape,
    targets: BTreeMap<At, Shape>,
}

impl NullRemover {
    /// Creates a converter of arguments of the shape `root`. Returns `None` if there is nothing to remove.
    pub fn new(root: Shape, targets: BTreeMap<At, Shape>) -> Option<Self> {
        let null_remover = Self { root, targets };
        let removes =
            null_remover.targets.values().chain([&null_remover.root]).any(|shape| null_remover.removes_in(shape));
        removes.then_some(null_remover)
    }

    /// Returns whether a `null` is removed somewhere in a value of `shape`. References in `shape` are not followed.
    fn removes_in(&self, shape: &Shape) -> bool {
        match &shape.form {
            Form::Object(object) => {
                object.properties.iter().any(|property| self.removes(property) || self.removes_in(&property.shape))
            }
            Form::Array(array) => array.prefix.iter().chain([&*array.items]).any(|item| self.removes_in(item)),
            Form::Union(members) => members.iter().any(|member| self.removes_in(member)),
            Form::Any | Form::Never | Form::Cut(_) | Form::Scalar(_) | Form::Ref(_) => false,
        }
    }

    /// Returns whether a `null` of this property is removed.
    fn removes(&self, property: &Property) -> bool {
        !property.required && !accepts_null(&property.shape, &self.targets)
    }

    /// Returns `arguments` without the nulls that mean "not given". Other values, and text that is not JSON, stay unchanged.
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let raised = || {
            let raw: &RawValue = serde_json::from_str(arguments).ok()?;
            self.raise_value(&self.root, raw.get(), MAX_NESTING)
        };
        if arguments.contains("null") { raised().map_or(arguments.into(), Cow::Owned) } else { arguments.into() }
    }

    /// Returns the changed text of the JSON value `text`, or `None` if nothing changes.
    fn raise_value(&self, shape: &Shape, text: &str, levels: usize) -> Option<String> {
        if levels == 0 || !text.contains("null") {
            return None;
        }
        match &shape.form {
            Form::Object(object) => self.raise_object(object, text, levels),
            Form::Array(array) => {
                let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                let item = |i: usize| array.prefix.get(i).unwrap_or(&array.items);
                let raised: Vec<_> =
                    list.iter().enumerate().map(|(i, raw)| self.raise_value(item(i), raw.get(), levels - 1)).collect();
                let parts = list.iter().zip(&raised).map(|(raw, raised)| raised.as_deref().unwrap_or(raw.get()));
                let parts: Vec<&str> = parts.collect();
                raised.iter().any(Option::is_some).then(|| format!("[{}]", parts.join(",")))
            }
            Form::Union(_) | Form::Ref(_) => self.raise_union(shape, text, levels),
            Form::Any | Form::Never | Form::Cut(_) | Form::Scalar(_) => None,
        }
    }

    fn raise_object(&self, object: &Object, text: &str, levels: usize) -> Option<String> {
        let mut kept = Vec::new();
        let mut changed = false;
        for (name, value) in raw_entries(text) {
            let property = object.properties.iter().find(|property| property.name == name);
            if value == "null" && property.is_some_and(|property| self.removes(property)) {
                changed = true;
                continue;
            }
            let raised = property.and_then(|property| self.raise_value(&property.shape, value, levels - 1));
            changed |= raised.is_some();
            kept.push(format!("{}:{}", Value::from(name), raised.as_deref().unwrap_or(value)));
        }
        changed.then(|| format!("{{{}}}", kept.join(",")))
    }

    /// Returns the changed `text`, by the branch that matches. Returns `None` if matching branches disagree or nothing changes.
    fn raise_union(&self, whole: &Shape, text: &str, levels: usize) -> Option<String> {
        let (mut fitting, mut complete) = (Vec::new(), Vec::new());
        let entries: Vec<_> = raw_entries(text).collect();
        let (mut todo, mut seen) = (vec![whole], Vec::new());
        while let Some(shape) = todo.pop() {
            match &shape.form {
                Form::Union(members) => todo.extend(members.iter().rev()),
                Form::Ref(at) if !seen.contains(&at) => {
                    seen.push(at);
                    todo.extend(self.targets.get(at));
                }
                Form::Object(own) if text.starts_with('{') && self.fits(own, &entries) => {
                    fitting.push(shape);
                    if own.properties.iter().all(|property| entries.iter().any(|(name, _)| *name == property.name)) {
                        complete.push(shape);
                    }
                }
                Form::Array(_) if text.starts_with('[') => fitting.push(shape),
                _ => {}
            }
        }
        let candidates = if complete.is_empty() { fitting } else { complete };
        let mut results = candidates.into_iter().map(|shape| self.raise_value(shape, text, levels - 1));
        let first = results.next()??;
        results.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// Returns whether `object` declares the name of each entry, and accepts its value if the property lists its valid values.
    fn fits(&self, object: &Object, entries: &[(Cow<'_, str>, &str)]) -> bool {
        entries.iter().all(|(name, text)| {
            let property = object.properties.iter().find(|property| property.name == *name);
            property.is_some_and(|property| match &property.shape.form {
                Form::Scalar(Scalar { values: Some(values), .. }) => {
                    (*text == "null" && self.removes(property))
                        || serde_json::from_str::<Value>(text)
                            .is_ok_and(|value| values.iter().any(|other| data::are_equal(other, &value)))
                }
                _ => true,
            })
        })
    }
}

/// Returns whether `null` is a valid value of `shape`.
pub fn accepts_null(shape: &Shape, targets: &BTreeMap<At, Shape>) -> bool {
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
    fn only_nulls_that_mean_not_given_are_removed() {
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
    fn unchanged_arguments_are_borrowed() {
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
        fn raising_removes_the_added_nulls(note in any::<Option<String>>(), gift in any::<Option<Option<String>>>(), count in any::<Option<i32>>()) {
            let mut original = json!({"id": "a", "items": [{"sku": "s"}]});
            let mut filled = json!({"id": "a", "note": note, "gift": gift, "item": null, "pair": null, "pay": null,
                "items": [{"sku": "s", "count": count, "parts": null}]});
            if let Some(note) = note { original["note"] = note.into(); }
            match gift {
                // `gift` itself accepts null, so it must stay.
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

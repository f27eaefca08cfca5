//! The form of a right call: the tool's name, and for each argument its accepted value, its type or its choices.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
};

use serde_json::{Map, Value};

use super::{Choices, Report};
use crate::schema::pointer;

/// The maximum length of a form, in bytes.
const MAX_BYTES: usize = 600;

/// The maximum length of the choices of one value, in bytes. Longer ones are named by their type.
const MAX_CHOICE_BYTES: usize = 200;

/// The maximum depth of objects and lists in a form.
const MAX_DEPTH: usize = 3;

/// The maximum number of values in a form. A schema of a few references can have any number.
const MAX_VALUES: usize = 300;

/// A rejected call, as its form needs it.
#[derive(Debug)]
pub struct RejectedCall<'a> {
    /// The name that the model calls.
    pub tool: &'a str,
    /// The schema of the arguments.
    pub schema: &'a Value,
    /// The values of the call as JSON, by name; of a corrected value the correction.
    pub given: HashMap<String, String>,
    /// The names of wrong and missing parameters, and the names that are suggested in place of unknown ones.
    pub wrong: HashSet<String>,
    /// The rejection's reports on parameters, and on values inside them.
    pub reports: Vec<(&'a str, &'a Report)>,
    /// The number of values that the form has already.
    pub count: Cell<usize>,
}

impl RejectedCall<'_> {
    /// Returns a sentence with the form of the right call. It has the required parameters, those that the call has, and the wrong ones.
    /// A parameter that is not wrong has the value of the call.
    ///
    /// A form of more than 600 bytes has only the wrong and missing parameters. Returns `None` if that one is too long, too.
    pub fn sentence(&self) -> Option<String> {
        let (root, _) = self.resolve(self.schema, "");
        let properties = root.get("properties").and_then(Value::as_object);
        let Some(properties) = properties else {
            let whole = self.write(self.schema, "", "", 0);
            if !whole.contains(['"', '[']) {
                return None;
            }
            return fits(format!("Call it like this: {{\"name\": {}, \"arguments\": {whole}}}", quote(self.tool)));
        };
        let required = required_names(root);
        let all = self.write_call(properties, |name| {
            required.contains(name) || self.given.contains_key(name) || self.wrong.contains(name)
        });
        fits(format!("Call it like this: {all}")).or_else(|| {
            self.count.set(0);
            let cut = self.write_call(properties, |name| self.wrong.contains(name));
            let has_any = properties.keys().any(|name| self.wrong.contains(name));
            fits(format!("Call it like this, with the other arguments as before: {cut}")).filter(|_| has_any)
        })
    }

    fn write_call(&self, properties: &Map<String, Value>, is_shown: impl Fn(&str) -> bool) -> String {
        let shown = properties.iter().filter(|(name, _)| is_shown(name));
        let arguments: Vec<String> = shown
            .map(|(name, schema)| {
                let accepted = self.given.get(name).filter(|_| !self.wrong.contains(name));
                let at = format!("/properties/{}", pointer::escape_token(name));
                let value = accepted.map_or_else(|| self.write(schema, &at, name, 0), |value| super::one_line(value));
                format!("{}: {value}", quote(name))
            })
            .collect();
        format!("{{\"name\": {}, \"arguments\": {{{}}}}}", quote(self.tool), arguments.join(", "))
    }

    /// Returns the schema that `schema`, which is at the place `at`, refers to, and its place.
    fn resolve<'s>(&'s self, schema: &'s Value, at: &str) -> (&'s Value, String) {
        let (mut schema, mut at) = (schema, at.to_owned());
        for _ in 0..MAX_DEPTH {
            let all = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice);
            if let Some([only]) = all {
                (schema, at) = (only, format!("{at}/allOf/0"));
            }
            let target = schema.get("$ref").and_then(Value::as_str);
            match target.and_then(|target| pointer::resolve(self.schema, &at, target)) {
                Some((place, target)) => (schema, at) = (target, place),
                None => break,
            }
        }
        (schema, at)
    }

    /// Returns the form of the value `path` of `schema`, which is at the place `at`.
    fn write(&self, schema: &Value, at: &str, path: &str, depth: usize) -> String {
        self.count.set(self.count.get() + 1);
        if self.count.get() > MAX_VALUES {
            return "<value>".to_owned();
        }
        let listed = self.reports.iter().filter(|(name, _)| is_at(name, path)).find_map(|(_, report)| {
            let Choices::Allowed(values) = &report.choices else { return None };
            write_choices(values)
        });
        if let Some(choices) = listed {
            return choices;
        }
        let (schema, at) = self.resolve(schema, at);
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        let values = schema.get("enum").and_then(Value::as_array);
        if let Some(choices) = values.and_then(|values| write_choices(values)) {
            return choices;
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(alternatives) = schema.get(word).and_then(Value::as_array) {
                return self.write_alternatives(alternatives, &format!("{at}/{word}"), path, depth);
            }
        }
        match type_of(schema) {
            Some("string") => match schema.get("format").and_then(Value::as_str) {
                Some(format) => quote(&format!("<{format}>")),
                None => quote("<string>"),
            },
            Some("boolean") => "<true|false>".to_owned(),
            Some("array") => {
                let items = schema.get("items").filter(|items| items.is_object() && depth < MAX_DEPTH);
                let item =
                    items.map(|items| self.write(items, &format!("{at}/items"), &format!("{path}.{ANY}"), depth + 1));
                format!("[{}]", item.unwrap_or_else(|| "<value>".to_owned()))
            }
            Some("object") => self.write_object(schema, &at, path, depth),
            Some(other) => format!("<{other}>"),
            None => "<value>".to_owned(),
        }
    }

    /// Returns the form of an object: its required and wrong members, or all if none is required.
    fn write_object(&self, schema: &Value, at: &str, path: &str, depth: usize) -> String {
        let members = schema.get("properties").and_then(Value::as_object).filter(|_| depth < MAX_DEPTH);
        let Some(members) = members else { return "<object>".to_owned() };
        let required = required_names(schema);
        let members: Vec<String> = members
            .iter()
            .map(|(name, schema)| (name, schema, format!("{path}.{name}")))
            .filter(|(name, _, path)| required.is_empty() || required.contains(name.as_str()) || self.is_wrong(path))
            .map(|(name, schema, path)| {
                let at = format!("{at}/properties/{}", pointer::escape_token(name));
                format!("{}: {}", quote(name), self.write(schema, &at, &path, depth + 1))
            })
            .collect();
        format!("{{{}}}", members.join(", "))
    }

    /// Returns whether the value at `path`, or one inside it, was rejected.
    fn is_wrong(&self, path: &str) -> bool {
        let depth = path.split('.').count();
        self.reports.iter().filter(|(_, report)| !report.is_valid()).any(|(name, _)| {
            let end = name.match_indices('.').nth(depth - 1).map_or(name.len(), |(end, _)| end);
            is_at(&name[..end], path)
        })
    }

    /// Returns the choices of alternatives that are single values, or else the form of the only one that is not null. Of several
    /// alternatives, returns their types: the call alone does not show which of them is meant.
    fn write_alternatives(&self, alternatives: &[Value], at: &str, path: &str, depth: usize) -> String {
        let forms = alternatives.iter().enumerate().map(|(index, one)| self.resolve(one, &format!("{at}/{index}")));
        let forms: Vec<(&Value, String)> = forms.filter(|(schema, _)| type_of(schema) != Some("null")).collect();
        let values: Option<Vec<Value>> = forms.iter().map(|(schema, _)| schema.get("const").cloned()).collect();
        if let Some(choices) = values.and_then(|values| write_choices(&values)) {
            return choices;
        }
        match &forms[..] {
            [(schema, at)] if depth < MAX_DEPTH => self.write(schema, at, path, depth + 1),
            forms => {
                let mut types: Vec<&str> = forms.iter().map(|(schema, _)| type_of(schema).unwrap_or("value")).collect();
                types.dedup();
                format!("<{}>", if types.is_empty() { "value".to_owned() } else { types.join("|") })
            }
        }
    }
}

/// Stands for the index of any item in the path of a value.
const ANY: &str = "*";

/// Returns whether `name`, the name of a report, is at `path`.
fn is_at(name: &str, path: &str) -> bool {
    let is_step =
        |(name, step): (&str, &str)| name == step || step == ANY && name.bytes().all(|byte| byte.is_ascii_digit());
    name == path
        || name.split('.').count() == path.split('.').count() && name.split('.').zip(path.split('.')).all(is_step)
}

/// Returns the names that a schema requires.
fn required_names(schema: &Value) -> HashSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the type of a schema, or of several the first that is not null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        name => name.as_str(),
    }
}

/// Returns choices as one value such as `"<celsius|kelvin>"`, or the only one. Returns `None` if there are none, or they are too long or not scalars.
fn write_choices(values: &[Value]) -> Option<String> {
    let values: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    if values.is_empty() || values.iter().any(|value| value.is_array() || value.is_object()) {
        return None;
    }
    if let [only] = &values[..] {
        return Some(super::one_line(&only.to_string())).filter(|value| value.len() <= MAX_CHOICE_BYTES);
    }
    let is_text = values.iter().all(|value| value.is_string());
    let words: Vec<String> =
        values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    let choices = format!("<{}>", words.join("|"));
    let choices = if is_text { quote(&choices) } else { super::one_line(&choices) };
    (choices.len() <= MAX_CHOICE_BYTES).then_some(choices)
}

/// Returns a text as JSON, on one line and without characters that could deceive a reader.
fn quote(text: &str) -> String {
    super::one_line(&Value::from(text).to_string())
}

fn fits(form: String) -> Option<String> {
    (form.len() <= MAX_BYTES).then_some(form)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::feedback::{Problem, ProblemKind, REJECTED, Rejection, Report};

    /// Returns the last line of the text for a call without the parameter `missing`.
    fn form(schema: &serde_json::Value, missing: &str, arguments: &str) -> String {
        let problem = Problem::new(format!("/{missing}"), ProblemKind::Missing, "a value");
        let rejection = Rejection::one(problem).explain("f", schema, arguments);
        rejection.for_model().unwrap().lines().last().unwrap().to_owned()
    }

    #[test]
    fn a_form_has_types_and_choices_of_what_the_call_needs_and_has() {
        let schema = json!({
            "type": "object",
            "required": ["a", "unit", "place"],
            "properties": {
                "a": { "type": "integer" },
                "unit": { "$ref": "#/$defs/Unit" },
                "place": {
                    "type": "object", "required": ["city"],
                    "properties": { "city": { "type": "string" }, "zip": { "type": "string" } },
                },
                "given": { "type": ["array", "null"], "items": { "type": "number" } },
                "day": { "type": "string", "format": "date" },
                "level": { "enum": [1, 2, null] },
                "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }, { "type": "null" }] },
                "flag": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
                "left_out": { "type": "string" },
            },
            "$defs": { "Unit": { "oneOf": [{ "const": "celsius" }, { "const": "kelvin" }] } },
        });
        // The values of a call that has no problem but the missing one stay.
        let sent = r#"{"given": [1], "day": "2026-11-30", "level": 2, "either": "x\ny", "flag": null}"#;
        assert_eq!(
            form(&schema, "a", sent),
            concat!(
                r#"Call it like this: {"name": "f", "arguments": {"a": <integer>, "unit": "<celsius|kelvin>", "#,
                r#""place": {"city": "<string>"}, "given": [1], "day": "2026-11-30", "level": 2, "#,
                r#""either": "x\ny", "flag": null}}"#
            )
        );
        let all = ["a", "given", "day", "level", "either", "flag"];
        let problems = all.map(|name| Problem::new(format!("/{name}"), ProblemKind::WrongType, "another value"));
        let sent = r#"{"given": 1, "day": 2, "level": 3, "either": 4, "flag": 5}"#;
        let text = Rejection::new(problems.to_vec()).explain("f", &schema, sent);
        assert_eq!(
            text.for_model().unwrap().lines().last().unwrap(),
            concat!(
                r#"Call it like this: {"name": "f", "arguments": {"a": <integer>, "unit": "<celsius|kelvin>", "#,
                r#""place": {"city": "<string>"}, "given": [<number>], "day": "<date>", "level": <1|2>, "#,
                r#""either": <integer|string>, "flag": <true|false>}}"#
            )
        );
    }

    #[test]
    fn a_form_has_what_is_wrong_inside_objects_and_lists() {
        let leg = json!({
            "type": "object", "required": ["class"],
            "properties": { "from": { "type": "string" }, "to": { "type": "string" }, "class": { "type": "integer" }, "note": { "type": "string" } },
        });
        let schema =
            json!({ "type": "object", "properties": { "there": leg, "legs": { "type": "array", "items": leg } } });
        let mut from = Report::rejected("not from there");
        from.choices = crate::feedback::Choices::Allowed(vec![json!("Bonn"), json!("Rome")]);
        let last_line = |reports: &[(&str, &Report)]| {
            let reports = reports.iter().map(|(name, report)| ((*name).to_owned(), (*report).clone()));
            let rejection = Rejection::reported(Vec::new(), reports.collect()).explain("f", &schema, "{}");
            rejection.for_model().unwrap().lines().last().unwrap().to_owned()
        };
        let form = |arguments: &str| format!(r#"Call it like this: {{"name": "f", "arguments": {arguments}}}"#);
        let accepted = Report::accepted();
        assert_eq!(
            last_line(&[("there.from", &from), ("there.note", &accepted)]),
            form(r#"{"there": {"from": "<Bonn|Rome>", "class": <integer>}}"#)
        );
        assert_eq!(
            last_line(&[("legs.0.from", &accepted), ("legs.12.from", &from), ("legs.3.to", &Report::rejected("no"))]),
            form(r#"{"legs": [{"from": "<Bonn|Rome>", "to": "<string>", "class": <integer>}]}"#)
        );
    }

    #[test]
    fn a_long_form_has_only_what_is_wrong() {
        let parameter = |number: usize| (format!("a_parameter_with_a_long_name_{number}"), json!({ "type": "string" }));
        let properties: serde_json::Map<_, _> = (0..20).map(parameter).collect();
        let required: Vec<_> = properties.keys().collect();
        let schema = json!({ "type": "object", "required": required, "properties": properties });
        assert_eq!(
            form(&schema, "a_parameter_with_a_long_name_3", "{}"),
            concat!(
                "Call it like this, with the other arguments as before: ",
                r#"{"name": "f", "arguments": {"a_parameter_with_a_long_name_3": "<string>"}}"#
            )
        );
        let problems = required.iter().map(|name| Problem::new(format!("/{name}"), ProblemKind::Missing, "a string"));
        let text = Rejection::new(problems.collect()).explain("f", &schema, "{}");
        assert!(!text.for_model().unwrap().contains("Call it like this"), "{text:?}");
    }

    #[test]
    fn a_schema_that_contains_itself_has_a_short_form() {
        let node = json!({
            "type": "object", "required": ["left", "right"],
            "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } },
        });
        assert!(form(&node, "left", "{}").len() < 700);
        let mut loops = json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/b" }, "b": { "$ref": "#/properties/a" } } });
        loops["required"] = json!(["a"]);
        assert_eq!(form(&loops, "a", "{}"), r#"Call it like this: {"name": "f", "arguments": {"a": <value>}}"#);
    }

    #[test]
    fn several_forms_of_input_are_not_guessed() {
        let one =
            |kind: &str| json!({ "type": "object", "properties": { "kind": { "const": kind } }, "required": ["kind"] });
        let schema = json!({ "oneOf": [one("train"), one("plane")] });
        assert_eq!(form(&schema, "kind", "{}"), "kind: missing: expected a value");
    }

    #[test]
    fn a_reason_of_the_application_has_no_form() {
        let schema = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
        let text =
            |rejection: Rejection| rejection.explain("f", &schema, r#"{"seats":3}"#).for_model().unwrap().to_owned();
        assert_eq!(
            text(Rejection::from_message("the flight is full")),
            format!("{REJECTED}:\ncall: the flight is full")
        );
        let mut seats = Report::rejected("only 2 are left");
        seats.choices = crate::feedback::Choices::Allowed(vec![json!(1), json!(2)]);
        let form = r#"Call it like this: {"name": "f", "arguments": {"seats": <1|2>}}"#;
        assert_eq!(
            text(Rejection::reported(Vec::new(), vec![("seats".into(), seats)])),
            format!(
                "{REJECTED}. Correct these problems and call again:\nseats: only 2 are left; choose from 1, 2\n{form}"
            )
        );
    }

    #[test]
    fn many_problems_are_counted() {
        let problems = (0..50).map(|number| Problem::new(format!("/p{number}"), ProblemKind::Missing, "a string"));
        let text = Rejection::new(problems.collect()).explain("f", &json!({}), "{}");
        let lines: Vec<&str> = text.for_model().unwrap().lines().collect();
        assert_eq!(
            (lines.len(), lines[20], lines[21]),
            (22, "p19: missing: expected a string", "and 30 more problems")
        );
    }

    #[test]
    fn a_change_removes_the_text() {
        let explained = || Rejection::from_message("no").explain("f", &json!({}), "{}");
        assert!(explained().for_model().is_some());
        assert!(explained().and("also").for_model().is_none() && explained().report("a", "b").for_model().is_none());
        assert!(explained().remark("a").for_model().is_none() && explained().instruct("a").for_model().is_none());
        let log = serde_json::to_string(&explained()).unwrap();
        assert_eq!(serde_json::from_str::<Rejection>(&log).unwrap().for_model(), explained().for_model());
    }
}

//! The form: the arguments of a call while they are gathered, and the next question.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::shape::{Choice, Kind, Shape};
use super::{scalar, words};
use tool_schema::feedback::Choices;
use tool_schema::schema::pointer;

/// The maximum number of answers that can be taken back.
const MAX_EARLIER_FORMS: usize = 32;

/// The arguments of a call while they are gathered.
#[derive(Clone, Debug, Default)]
pub struct Form {
    pub tool: String,
    /// The known values: an object, which may be incomplete.
    pub values: Value,
    /// The tool's feedback on its parameters, from rejections, by pointer.
    pub feedback: BTreeMap<String, ParameterFeedback>,
    /// The pointers of parameters to ask for although the schema does not require them, in order.
    pub wanted: Vec<String>,
    /// The pointer of a list that may get more items.
    pub open_list: Option<String>,
    /// A question about the last answer.
    pub clarification: Option<Clarification>,
    /// The form before each answer, the latest last.
    earlier_forms: Vec<Form>,
}

/// The feedback of a tool about a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterFeedback {
    /// The values that are possible now.
    pub choices: Choices,
    /// The shape of the parameter now.
    pub shape: Option<Shape>,
    /// Set if the tool accepted the parameter's value.
    pub is_accepted: bool,
    /// Set if the tool needs the parameter: the tool rejected a call without it, or other parameters depend on it.
    pub is_needed: bool,
    /// The pointers of the parameters that this one depends on.
    pub dependencies: Vec<String>,
}

/// A question about the last answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Clarification {
    /// The model asks if the person means this value.
    Meant { pointer: String, value: Value },
    /// The model asks for one of these values.
    Which { pointer: String, values: Vec<Value> },
    /// The model asks which of these parameters to change.
    Change { pointers: Vec<String> },
    /// The model asks if another tool takes over, with this sentence.
    Switch { tool: usize, text: String },
}

impl Form {
    /// Creates an empty form for a tool.
    pub fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), values: json!({}), ..Self::default() }
    }

    pub fn from_call(tool: &str, arguments: &str) -> Self {
        match serde_json::from_str(arguments) {
            Ok(values @ Value::Object(_)) => Self::new(tool).with_values(values),
            _ => Self::new(tool),
        }
    }

    /// Replaces the form's values.
    pub fn with_values(mut self, values: Value) -> Self {
        self.values = values;
        self
    }

    /// Returns the next question, or `None` if the form is complete.
    pub fn next_question(&self, root: &Shape) -> Option<FieldQuestion> {
        if let Some(pointer) = &self.open_list {
            return Some(self.question_about(root, pointer));
        }
        let wanted = self.wanted.iter().find_map(|pointer| {
            let current = self.values.pointer(pointer);
            find_missing(root.at(pointer)?, current, pointer)
        });
        wanted.or_else(|| find_missing_in(root, &self.values, "")).map(|pointer| self.question_about(root, &pointer))
    }

    /// Returns the question about a parameter, with the tool's feedback on it.
    pub fn question_about(&self, root: &Shape, pointer: &str) -> FieldQuestion {
        let feedback = self.feedback.get(pointer);
        let fallback = Shape::default();
        let shape =
            feedback.and_then(|feedback| feedback.shape.as_ref()).or_else(|| root.at(pointer)).unwrap_or(&fallback);
        let mut question = FieldQuestion::new(pointer, shape);
        question.is_optional = !is_required(root, pointer) && !feedback.is_some_and(|feedback| feedback.is_needed);
        match feedback.map(|feedback| &feedback.choices) {
            Some(Choices::Allowed(values)) if !values.is_empty() => question.with_choices(values, true),
            Some(Choices::Suggested(values)) => question.with_choices(values, false),
            _ => question,
        }
    }

    /// Returns whether the known value is valid. A list with too few items is not valid.
    pub fn is_complete(&self, question: &FieldQuestion) -> bool {
        self.values.pointer(&question.pointer).is_some_and(|value| question.shape.check(value).is_ok())
    }

    /// Returns the known values as `name: value, name: value`; empty if there are none.
    pub fn describe_values(&self) -> String {
        let mut out = Vec::new();
        describe_into(&self.values, "", &mut out);
        out.join(", ")
    }

    /// Returns the known value of a question as `name: value`, so that the person notices a misunderstanding.
    pub fn describe_value(&self, question: &FieldQuestion) -> String {
        match self.values.pointer(&question.pointer) {
            Some(Value::Array(items)) if items.iter().any(Value::is_object) => String::new(),
            Some(value) => {
                let shown = scalar::to_short_text(value);
                format!("{}: {}", label(&question.pointer), if shown.is_empty() { "none" } else { &shown })
            }
            None => String::new(),
        }
    }

    /// Stores the form's current state for [`go_back`](Self::go_back).
    pub fn save(&mut self) {
        if self.earlier_forms.len() == MAX_EARLIER_FORMS {
            self.earlier_forms.remove(0);
        }
        let before = Self { earlier_forms: Vec::new(), clarification: None, ..self.clone() };
        self.earlier_forms.push(before);
    }

    /// Restores the form before the last answer. Returns whether there was one.
    pub fn go_back(&mut self) -> bool {
        let Some(before) = self.earlier_forms.pop() else { return false };
        let earlier_forms = std::mem::take(&mut self.earlier_forms);
        *self = Self { earlier_forms, ..before };
        true
    }

    /// Sets a value that the person gave, and drops the questions and the feedback that the value makes outdated.
    pub fn set(&mut self, pointer: &str, value: Value) {
        let was_accepted = self.feedback.get(pointer).is_some_and(|feedback| feedback.is_accepted);
        self.store_value(pointer, value);
        self.wanted.retain(|wanted| wanted != pointer);
        self.open_list = self.open_list.take().filter(|open| open != pointer);
        self.clarification = None;
        self.forget_dependents(pointer);
        // The tool must judge the change first, because other parameters may no longer be needed. Only parameters that waited
        // have known dependencies. So after a change of an accepted value, any parameter may be affected.
        let all_feedback = &self.feedback;
        let is_dependent = |feedback: &ParameterFeedback| {
            was_accepted || feedback.dependencies.iter().any(|dependency| overlap(dependency, pointer))
        };
        self.wanted.retain(|wanted| {
            all_feedback.get(wanted).is_none_or(|feedback| !feedback.is_needed || !is_dependent(feedback))
        });
    }

    /// Returns a parameter that must be known before the model can ask for this one.
    pub fn find_missing_dependency(&self, pointer: &str) -> Option<&str> {
        let dependencies = &self.feedback.get(pointer)?.dependencies;
        dependencies.iter().find(|dependency| self.values.pointer(dependency).is_none()).map(String::as_str)
    }

    /// Stores a value at its place.
    pub fn store_value(&mut self, pointer: &str, value: Value) {
        let mut place = &mut self.values;
        for step in pointer.split('/').skip(1) {
            let index = step.parse::<usize>().unwrap_or(usize::MAX);
            let has_item = place.as_array().is_some_and(|items| index < items.len());
            if !has_item && !place.is_object() {
                *place = json!({});
            }
            place = match place {
                Value::Array(items) => &mut items[index],
                Value::Object(map) => map.entry(pointer::last(step)).or_insert(Value::Null),
                _ => return,
            };
        }
        *place = value;
    }

    /// Removes a value, so that the model asks for it again.
    pub fn unset(&mut self, pointer: &str) {
        let Some((parent, step)) = pointer.rsplit_once('/') else { return };
        if let Some(Value::Object(map)) = self.values.pointer_mut(parent) {
            map.remove(&pointer::last(step));
        }
        self.forget_dependents(pointer);
    }

    /// Drops the feedback on parameters that depend on a changed one, because it is outdated.
    fn forget_dependents(&mut self, pointer: &str) {
        let is_dependent = |feedback: &&mut ParameterFeedback| {
            feedback.dependencies.iter().any(|dependency| overlap(dependency, pointer))
        };
        for feedback in self.feedback.values_mut().filter(is_dependent) {
            *feedback = ParameterFeedback {
                dependencies: std::mem::take(&mut feedback.dependencies),
                is_needed: feedback.is_needed,
                ..ParameterFeedback::default()
            };
        }
    }

    /// Returns the call's arguments in the order of the schema, with required values filled in if only one is possible.
    pub fn arguments(&self, root: &Shape) -> Value {
        fill_in(root, &self.values)
    }
}

fn describe_into(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| describe_into(value, &pointer::join(at, name), out)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(index, value)| describe_into(value, &format!("{at}/{index}"), out));
        }
        value => out.push(format!("{}: {}", label(at), scalar::to_short_text(value))),
    }
}

/// Returns whether two pointers are equal, or one is inside the other.
fn overlap(one: &str, other: &str) -> bool {
    let is_within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_within(one, other) || is_within(other, one)
}

/// Returns whether a value is required if the value around it exists.
fn is_required(root: &Shape, pointer: &str) -> bool {
    let Some((parent, step)) = pointer.rsplit_once('/') else { return true };
    let name = pointer::last(step);
    root.at(parent).is_none_or(|holder| holder.fields().iter().all(|field| field.name != name || field.is_required))
}

/// A question for one value.
#[derive(Clone, Debug)]
pub struct FieldQuestion {
    /// The place of the value: a JSON Pointer into the arguments.
    pub pointer: String,
    /// The values that it may have.
    pub shape: Shape,
    /// The values that are offered.
    pub choices: Vec<Choice>,
    /// Set if no other value is allowed.
    pub is_strict: bool,
    /// Set if the value can be left out.
    pub is_optional: bool,
}

impl FieldQuestion {
    /// Creates a question for a value of `shape`.
    pub fn new(pointer: &str, shape: &Shape) -> Self {
        // The choices of a list are the allowed values of its items.
        let choices = match &shape.kind {
            Kind::List { item, .. } if shape.allowed.is_empty() => item.allowed.clone(),
            _ => shape.allowed.clone(),
        };
        Self {
            pointer: pointer.to_owned(),
            shape: shape.clone(),
            is_strict: !choices.is_empty(),
            choices,
            is_optional: false,
        }
    }

    /// Sets the offered values. If `is_strict` is set, no others are allowed.
    pub fn with_choices(mut self, values: &[Value], is_strict: bool) -> Self {
        let labels = std::mem::take(&mut self.choices);
        let known = |value: &Value| labels.iter().find(|choice| choice.value == *value).cloned();
        let day = |value: &Value| Choice {
            label: value.as_str().and_then(scalar::describe_day).unwrap_or_default(),
            ..Choice::without_label(value)
        };
        let is_day = self.shape.format() == Some("date");
        let choice = |value: &Value| {
            known(value).unwrap_or_else(|| if is_day { day(value) } else { Choice::without_label(value) })
        };
        self.choices = values.iter().map(choice).collect();
        self.is_strict = is_strict;
        self
    }

    /// Returns whether a text is the whole value of a choice, apart from case and punctuation.
    pub fn has_choice(&self, text: &str) -> bool {
        let folded = words::fold(text);
        self.choices.iter().any(|choice| words::fold(&scalar::to_plain_text(&choice.value)) == folded)
    }

    /// Returns the first and last choice, if no other value is allowed and they are more than three consecutive integers.
    pub fn integer_range(&self) -> Option<(i64, i64)> {
        let numbers: Option<Vec<i64>> = self.choices.iter().map(|choice| choice.value.as_i64()).collect();
        let numbers = numbers.filter(|numbers| self.is_strict && numbers.len() > 3)?;
        let is_consecutive = numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        is_consecutive.then(|| (numbers[0], numbers[numbers.len() - 1]))
    }

    /// Returns whether the listed choices are numbered. They are not if a number could be a value.
    pub fn is_numbered(&self) -> bool {
        may_be_numbered(self.choices.iter().map(|choice| &choice.value))
    }
}

/// Returns whether a person can name values by their numbers in a list, because no value looks like a number.
pub fn may_be_numbered<'a>(mut values: impl Iterator<Item = &'a Value>) -> bool {
    !values.any(|value| scalar::parse_number(&scalar::to_plain_text(value)).is_some())
}

/// Returns a JSON Pointer for people: `/address/city` is `address city`, `/passengers/0/name` is `passengers 1 name`.
pub fn label(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| match step.parse::<usize>() {
        Ok(index) => (index.saturating_add(1)).to_string(),
        Err(_) => words::humanize(&pointer::last(step)),
    });
    steps.collect::<Vec<_>>().join(" ")
}

/// Returns the last name in a JSON Pointer, for people.
pub fn last_label(pointer: &str) -> String {
    label(&format!("/{}", pointer.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or_default()))
}

/// Returns the name of the parameter that a pointer leads into.
pub fn parameter_of(pointer: &str) -> String {
    pointer.split('/').nth(1).map(pointer::last).unwrap_or_default()
}

/// Returns the pointer of the first missing value inside `value`, whose own pointer is `pointer`.
pub fn find_missing_in(shape: &Shape, value: &Value, pointer: &str) -> Option<String> {
    match (&shape.kind, value) {
        (Kind::Object { fields, .. }, Value::Object(map)) => fields.iter().find_map(|field| {
            let pointer = pointer::join(pointer, &field.name);
            match map.get(&field.name) {
                None if !field.is_required => None,
                known => find_missing(&field.shape, known, &pointer),
            }
        }),
        (Kind::List { item, least, .. }, Value::Array(items)) => {
            if items.len() < *least {
                return Some(pointer.to_owned());
            }
            items.iter().enumerate().find_map(|(at, known)| find_missing_in(item, known, &format!("{pointer}/{at}")))
        }
        _ => None,
    }
}

/// Returns the pointer of the first missing part of a required value: the value itself, or something inside it.
pub fn find_missing(shape: &Shape, value: Option<&Value>, pointer: &str) -> Option<String> {
    match value {
        Some(value) => find_missing_in(shape, value, pointer),
        None if shape.only_value().is_some() => None,
        None if shape.is_form() => find_missing_in(shape, &json!({}), pointer),
        None => Some(pointer.to_owned()),
    }
}

/// Returns the value in the order of the schema, with required fields filled in if only one value is possible.
pub fn fill_in(shape: &Shape, value: &Value) -> Value {
    match (&shape.kind, value) {
        (Kind::Object { fields, .. }, Value::Object(map)) => {
            let mut out = Map::new();
            for field in fields {
                let value = match (map.get(&field.name), field.shape.only_value()) {
                    (Some(value), _) => fill_in(&field.shape, value),
                    (None, Some(only)) if field.is_required => only.clone(),
                    (None, None) if field.is_required && field.shape.is_form() => fill_in(&field.shape, &json!({})),
                    _ => continue,
                };
                out.insert(field.name.clone(), value);
            }
            for (name, value) in map {
                if !out.contains_key(name) {
                    out.insert(name.clone(), value.clone());
                }
            }
            Value::Object(out)
        }
        (Kind::List { item, .. }, Value::Array(items)) => items.iter().map(|value| fill_in(item, value)).collect(),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape::of(&json!({"type": "object", "required": ["kind", "who", "stops"], "properties": {
            "note": {"type": "string"},
            "stops": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["city"],
                "properties": {"city": {"type": "string"}}}},
            "kind": {"const": "trip"},
            "who": {"type": "object", "required": ["first", "last"], "properties": {
                "first": {"type": "string"}, "last": {"type": "string"}}}
        }}))
    }

    fn next_pointer(form: &Form) -> Option<String> {
        form.next_question(&shape()).map(|question| question.pointer)
    }

    #[test]
    fn asks_for_gaps_and_fills_only_values() {
        let mut form = Form::new("plan");
        for (pointer, value) in [
            ("/stops", json!([{}, {}])),
            ("/stops/0/city", json!("Rome")),
            ("/stops/1/city", json!("Bari")),
            ("/who/first", json!("Ada")),
            ("/who/last", json!("L")),
        ] {
            assert_eq!(next_pointer(&form).as_deref(), Some(pointer));
            form.set(pointer, value);
        }
        assert_eq!(next_pointer(&form), None);
        let expected = r#"{"stops":[{"city":"Rome"},{"city":"Bari"}],"kind":"trip","who":{"first":"Ada","last":"L"}}"#;
        assert_eq!(form.arguments(&shape()).to_string(), expected);
    }

    #[test]
    fn goes_back_answer_by_answer() {
        let mut form = Form::new("plan");
        assert!(!form.go_back());
        form.save();
        form.set("/stops", json!([{}]));
        form.save();
        form.set("/stops/0/city", json!("Rome"));
        assert!(form.go_back() && next_pointer(&form).as_deref() == Some("/stops/0/city"));
        assert!(form.go_back() && next_pointer(&form).as_deref() == Some("/stops"));
        assert!(!form.go_back());
    }

    #[test]
    fn wanted_parameters_come_first_and_feedback_expires() {
        let mut form = Form::new("plan");
        form.wanted.push("/note".into());
        assert!(
            form.next_question(&shape()).is_some_and(|question| question.pointer == "/note" && question.is_optional)
        );
        let feedback = ParameterFeedback {
            choices: Choices::Allowed(vec![json!("x")]),
            dependencies: vec!["/who".into()],
            ..ParameterFeedback::default()
        };
        form.feedback.insert("/note".into(), feedback);
        assert!(form.next_question(&shape()).is_some_and(|question| question.is_strict && question.choices.len() == 1));
        form.set("/who/first", json!("Ada"));
        assert!(form.next_question(&shape()).is_some_and(|question| !question.is_strict));
    }

    #[test]
    fn setting_creates_the_values_around() {
        let mut form = Form::from_call("plan", "[1]");
        form.set("/a/0/b", json!(1));
        assert_eq!(form.values, json!({"a": {"0": {"b": 1}}}));
        form.set("/a", json!(1));
        form.set("/a/b", json!(2));
        assert_eq!(form.values, json!({"a": {"b": 2}}));
        form.unset("/a/b");
        form.unset("");
        assert_eq!(form.values, json!({"a": {}}));
    }

    #[test]
    fn pointers_for_people() {
        assert_eq!(label("/address/streetName"), "address street name");
        assert_eq!(label("/passengers/0/name"), "passengers 1 name");
        assert_eq!(last_label("/passengers/0"), "passengers");
        assert_eq!(parameter_of(&pointer::join("", "a/b~c")), "a/b~c");
        assert_eq!(label(""), "");
    }
}

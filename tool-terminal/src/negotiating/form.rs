//! The form: the arguments of a call while they are gathered, and the next question.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::text;
use tool_schema::feedback::{Choices, RejectedAnswer, Rejection, Report, suggest};
use tool_schema::schema::{CompiledSchema, pointer};

/// The depth up to which unions and references are followed: either may form a circle.
const MAX_DEPTH: usize = 16;

/// The arguments of a call while they are gathered.
#[derive(Clone, Debug, Default)]
pub struct Form {
    pub tool: String,
    pub values: Map<String, Value>,
    /// The last reports of the tool on parameters.
    reports: BTreeMap<String, Report>,
    /// The parameters to ask for first, in order, and whether the call can be made without them.
    wanted: Vec<(String, bool)>,
}

impl Form {
    pub fn new(tool: &str, values: Map<String, Value>) -> Self {
        Self { tool: tool.to_owned(), values, ..Self::default() }
    }

    /// Returns the next question, or `None` if the call can be made. `root` is the schema of the arguments.
    pub fn next_question(&self, root: &Value) -> Option<Question> {
        if ["oneOf", "anyOf"].iter().any(|word| root.get(word).is_some()) {
            // Which parameters there are depends on the values, so the arguments are one answer.
            return self.values.is_empty().then(|| Question::about_all(root));
        }
        let required = root["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut missing = required.filter(|name| !self.values.contains_key(*name));
        if let Some((name, is_optional)) = self.wanted.first() {
            return Some(Question { is_optional: *is_optional, ..self.question_about(root, name) });
        }
        Some(self.question_about(root, missing.next()?))
    }

    /// Returns the question about a parameter, with what the tool said about it.
    pub fn question_about(&self, root: &Value, name: &str) -> Question {
        let mut question = Question::new(root, name);
        if let Some(report) = self.reports.get(name) {
            if let Some(schema) = report.schema.as_ref().filter(|schema| schema.is_object()) {
                question.schema = schema.clone();
            }
            match &report.choices {
                Choices::Allowed(values) => question.offer(values, true),
                Choices::Suggested(values) if !values.is_empty() => question.offer(values, false),
                _ => {}
            }
        }
        question
    }

    /// Stores the person's answer.
    pub fn answer(&mut self, question: &Question, value: Value) {
        match value {
            Value::Object(all) if question.name.is_empty() => self.values = all,
            value => drop(self.values.insert(question.name.clone(), value)),
        }
        self.skip(question);
    }

    /// Leaves a parameter as it is.
    pub fn skip(&mut self, question: &Question) {
        self.wanted.retain(|(name, _)| *name != question.name);
    }

    /// Forgets what the tool said, because a changed parameter may change it. The tool judges the call again.
    pub fn forget_reports(&mut self) {
        self.reports.clear();
        self.wanted.clear();
    }

    /// Applies a rejection: the model asks again for the rejected parameters. Returns a text for the person, and whether a value is
    /// possible for each of them.
    pub fn apply(&mut self, root: &Value, rejected: &RejectedAnswer) -> (String, bool) {
        let mut texts = rejected.problems().to_vec();
        let mut may_succeed = true;
        let mut held = Vec::new();
        self.wanted.clear();
        for (path, report) in rejected.reports() {
            let name = parameter(root, path);
            let label = text::capitalize(&text::label(&name));
            // A part has another value and other choices than the parameter.
            let is_whole = name == *path;
            if let Some(value) = report.normalized.clone().filter(|_| is_whole) {
                self.values.insert(name.clone(), value);
            }
            if let Some(reasons) = &report.rejected {
                let given = self.values.remove(&name);
                let is_required = root["required"].as_array().into_iter().flatten().any(|required| *required == *name);
                if reasons.required().is_empty() {
                    // A tool that misses a parameter needs it.
                    if self.wanted.iter().all(|(wanted, _)| *wanted != name) {
                        self.wanted.push((name.clone(), given.is_some() && !is_required));
                    }
                } else {
                    let required = reasons.required().iter().map(|required| parameter(root, required));
                    held.push((name.clone(), required.collect::<Vec<_>>()));
                }
                let why = reasons.problems().join("; ");
                let given = given.filter(|_| !why.is_empty());
                if !is_whole {
                    texts.extend(Rejection::of(path.clone(), report.clone()).lines());
                } else if let Some(given) = given {
                    texts.push(format!("{label}: “{}” does not work, because {why}.", text::inline(&given)));
                } else if report.choices == Choices::Allowed(Vec::new()) {
                    may_succeed = false;
                    texts.push(format!("{label}: nothing is possible. {}.", text::capitalize(&why)));
                }
            }
            texts.extend(report.feedback.iter().chain(&report.instructions).cloned());
            if is_whole {
                self.reports.insert(name, report.clone());
            }
        }
        if self.wanted.is_empty() {
            // All rejected parameters wait for others: those are asked for, unless they are there.
            for (name, required) in held {
                let missing = required.into_iter().find(|other| !self.values.contains_key(other));
                self.wanted.push((missing.unwrap_or(name), false));
            }
            self.wanted.dedup();
        }
        texts.extend(rejected.remarks().iter().chain(rejected.instructions()).cloned());
        (texts.join("\n"), may_succeed)
    }
}

/// Returns the parameter that feedback calls `path`: `leg.from` is inside `leg`, unless a parameter has that whole name.
fn parameter(root: &Value, path: &str) -> String {
    let is_known = root["properties"].get(path).is_some();
    if is_known { path } else { path.split(['.', '/']).find(|step| !step.is_empty()).unwrap_or(path) }.to_owned()
}

/// A question for one value.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The name of the parameter; empty for all arguments at once.
    pub name: String,
    description: String,
    /// The schema of the value, with the definitions to which it refers.
    schema: Value,
    choices: Vec<Choice>,
    /// Set if no other value is allowed.
    is_closed: bool,
    /// Set if the value is a list.
    is_array: bool,
    /// Set if the choices are those of its items.
    is_list: bool,
    pub is_optional: bool,
}

#[derive(Clone, Debug)]
struct Choice {
    value: Value,
    about: String,
}

impl Question {
    fn about_all(root: &Value) -> Self {
        Self { description: "All arguments, as a JSON object.".to_owned(), schema: root.clone(), ..Self::default() }
    }

    fn new(root: &Value, name: &str) -> Self {
        let place = root["properties"].get(name).unwrap_or(&Value::Null);
        let target = resolve(root, place);
        let about = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let mut schema = if place.is_object() { place.clone() } else { Value::Object(Map::new()) };
        for definitions in ["$defs", "definitions", "$schema"] {
            if let (Some(map), Some(all)) = (schema.as_object_mut(), root.get(definitions)) {
                map.entry(definitions).or_insert_with(|| all.clone());
            }
        }
        let items = target.get("items").map(|items| choices(root, items, MAX_DEPTH)).unwrap_or_default();
        let is_list = !items.is_empty();
        let choices = if is_list { items } else { choices(root, place, MAX_DEPTH) };
        Self {
            name: name.to_owned(),
            description: about(place).or_else(|| about(target)).unwrap_or_default(),
            schema,
            is_closed: !choices.is_empty(),
            choices,
            is_array: target["type"] == "array",
            is_list,
            is_optional: false,
        }
    }

    /// Offers these values.
    fn offer(&mut self, values: &[Value], is_closed: bool) {
        let known = std::mem::take(&mut self.choices);
        let about =
            |value: &Value| known.iter().find(|choice| choice.value == *value).map(|choice| choice.about.clone());
        let offered =
            values.iter().map(|value| Choice { value: value.clone(), about: about(value).unwrap_or_default() });
        self.choices = offered.collect();
        self.is_closed = is_closed;
        self.is_list &= values.iter().all(|value| !value.is_array());
    }

    /// Returns whether any text is an answer.
    pub fn is_free_text(&self) -> bool {
        self.choices.is_empty() && self.read("any text").is_ok()
    }

    /// Returns the question as text.
    pub fn text(&self) -> String {
        let label =
            if self.name.is_empty() { "Arguments".to_owned() } else { text::capitalize(&text::label(&self.name)) };
        let mut out = format!("{label}?");
        let about = text::first_sentence(&self.description);
        if !about.is_empty() && text::fold(&about) != text::fold(&label) {
            out.extend([" ", &about, "."]);
        }
        let mut hints = Vec::new();
        if self.choices.is_empty() {
            hints.extend(self.expected());
        }
        if self.is_array {
            hints.push("with commas between".to_owned());
        }
        if let Some(default) = self.schema.get("default") {
            hints.push(format!("otherwise {}", text::inline(default)));
        }
        if self.is_optional {
            hints.push("or “skip”".to_owned());
        }
        if !hints.is_empty() {
            out.extend([" (", &hints.join("; "), ")"]);
        }
        if !self.choices.is_empty() {
            out.push_str(if self.is_closed { "\n" } else { " For example:\n" });
            out.push_str(&text::numbered(self.choices.iter().map(|choice| {
                let about = text::first_sentence(&choice.about);
                let value = text::inline(&choice.value);
                if about.is_empty() { value } else { format!("{value} – {about}") }
            })));
        }
        out
    }

    /// Returns what the value must be, if that is more than a text.
    fn expected(&self) -> Option<String> {
        // A value that fits hardly any schema makes the schema say what does.
        let probe = Value::String("\u{0}".to_owned());
        let problem = CompiledSchema::compile(&self.schema).ok()?.problems(&probe, "").into_iter().next()?;
        Some(problem.expected)
    }

    /// Reads an answer. Fails with a text for the person.
    pub fn read(&self, answer: &str) -> Result<Value, String> {
        let answer = answer.trim();
        if !self.choices.is_empty() {
            let chosen = if self.is_list {
                let pieces = answer.split(',').map(str::trim).filter(|piece| !piece.is_empty());
                pieces.map(|piece| self.choose(piece)).collect::<Option<_>>().map(Value::Array)
            } else {
                self.choose(answer)
            };
            match chosen {
                Some(value) => return Ok(value),
                None if self.is_closed => return Err(self.describe_unknown(answer)),
                None => {}
            }
        }
        let candidates = candidates(answer);
        let Ok(schema) = CompiledSchema::compile(&self.schema) else { return Ok(candidates[0].clone()) };
        if let Some(value) = candidates.iter().find(|value| schema.is_valid(value)) {
            return Ok(value.clone());
        }
        let list = || candidates.iter().find(|value| value.is_array());
        let read = || serde_json::from_str(answer).unwrap_or_else(|_| answer.into());
        let meant = if self.is_array { list().cloned().unwrap_or_default() } else { read() };
        let problem = schema.problems(&meant, "").into_iter().next();
        let text = problem.map_or_else(String::new, |problem| text::capitalize(&problem.to_string()));
        Err(if text.ends_with('?') { text } else { text + "." })
    }

    /// Returns the choice that a person names by its number or its text.
    fn choose(&self, answer: &str) -> Option<Value> {
        let folded = text::fold(answer.trim_matches('"'));
        let named = self.choices.iter().find(|choice| text::fold(&text::inline(&choice.value)) == folded);
        // A number is a place in the list only if it cannot be a value.
        let are_numbers = self.choices.iter().any(|choice| text::inline(&choice.value).parse::<f64>().is_ok());
        let at = || answer.trim_end_matches('.').parse::<usize>().ok().filter(|_| !are_numbers)?.checked_sub(1);
        Some(named.or_else(|| self.choices.get(at()?))?.value.clone())
    }

    fn describe_unknown(&self, answer: &str) -> String {
        let known: Vec<String> = self.choices.iter().map(|choice| text::inline(&choice.value)).collect();
        let near = suggest::nearest(answer, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!(" Did you mean “{near}”?"));
        format!("“{}” is not on the list.{near}", text::inline(&answer.into()))
    }
}

/// Returns the values that an answer may be, in the order of preference; the last one is the text itself or a list of texts.
fn candidates(answer: &str) -> Vec<Value> {
    let mut out: Vec<Value> = serde_json::from_str(answer).into_iter().collect();
    match text::fold(answer).as_str() {
        "yes" | "y" => out.push(true.into()),
        "no" | "n" => out.push(false.into()),
        "none" => out.extend([Value::Null, Value::Array(Vec::new())]),
        _ => {}
    }
    out.push(answer.into());
    let pieces = || answer.split(',').map(str::trim).filter(|piece| !piece.is_empty());
    let read = |piece: &str| serde_json::from_str::<Value>(piece).unwrap_or_else(|_| piece.into());
    out.push(Value::Array(pieces().map(read).collect()));
    out.push(Value::Array(pieces().map(Value::from).collect()));
    out
}

/// Returns the values that a schema names, with their descriptions; none if it allows others, or is deeper than `depth`.
fn choices(root: &Value, schema: &Value, depth: usize) -> Vec<Choice> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let schema = resolve(root, schema);
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    if let Some(value) = schema.get("const") {
        return vec![Choice { value: value.clone(), about: about.to_owned() }];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let named = values.iter().filter(|value| !value.is_null());
        return named.map(|value| Choice { value: value.clone(), about: String::new() }).collect();
    }
    let branches = ["oneOf", "anyOf"].iter().find_map(|word| schema.get(word)?.as_array()).into_iter().flatten();
    let mut out = Vec::new();
    for branch in branches.filter(|branch| branch["type"] != "null") {
        match choices(root, branch, depth) {
            found if found.is_empty() => return found,
            found => out.extend(found),
        }
    }
    out
}

/// Follows the references of a schema.
fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        let reference = schema.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| pointer::resolve(root, "", reference)) {
            Some((_, target)) => schema = target,
            None => break,
        }
    }
    schema
}

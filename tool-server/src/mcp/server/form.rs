//! The forms in which a client asks for decisions, and the decisions of filled forms.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, JsonObject};
use serde_json::{Map, Value, json};
use tool_run::run::Shown;
use tool_runtime::{
    Rejection,
    feedback::one_line,
    run::{Decision, InterruptKind},
};

/// A form that asks for a decision.
pub struct Form {
    pub params: ElicitRequestParams,
    pub wants: Wants,
    /// The name of the form among those of its call: a call waits for one thing at a time.
    pub key: String,
}

/// The kind of decision that a filled form makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    Permission,
    /// The answer to a question; below this key, where it is no object.
    Answer(Option<&'static str>),
    /// The output of a call that is executed outside.
    Output(Option<&'static str>),
}

const ANSWER: &str = "answer";
const OUTPUT: &str = "output";

impl Form {
    /// The form for what a call waits for; `output` is the schema of the tool's output.
    ///
    /// None where a form cannot carry it: its fields are texts, numbers, booleans and choices.
    pub fn of(
        kind: &InterruptKind,
        shown: &Shown,
        output: Option<&Value>,
        feedback: Option<&Rejection>,
    ) -> Option<Self> {
        // The name first: a title is what somebody says of the tool, and may be a remote server.
        let name = match &shown.title {
            Some(title) => format!("{} ({title})", shown.tool),
            None => shown.tool.clone(),
        };
        let (text, wants, schema) = match kind {
            InterruptKind::Approval { .. } => {
                let question = shown.challenge.clone().unwrap_or_else(|| format!("Allow this call of `{name}`?"));
                (described(question, shown), Wants::Permission, permission())
            }
            InterruptKind::Reconcile => {
                let question = format!(
                    "The program that ran this call of `{name}` was stopped, and nobody knows what came of it. Run it again?"
                );
                (described(question, shown), Wants::Permission, permission())
            }
            InterruptKind::Answer { question } => match &question.schema {
                None => (question.text.clone(), Wants::Permission, permission()),
                Some(schema) => {
                    let (schema, key) = fields(schema, ANSWER)?;
                    (question.text.clone(), Wants::Answer(key), schema)
                }
            },
            InterruptKind::External => {
                let (schema, key) = fields(output?, OUTPUT)?;
                let question = shown.challenge.clone().unwrap_or_else(|| format!("`{name}` asks you:"));
                (described(question, shown), Wants::Output(key), schema)
            }
            InterruptKind::Inner { .. } => return None,
        };
        let message = match feedback {
            Some(feedback) => format!("{text}\n\nNot accepted: {feedback}"),
            None => text,
        };
        let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
        let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        Some(Self { params, wants, key: key(kind) })
    }
}

/// Returns a name for the form: of the type that answers a question, where it has one.
fn key(kind: &InterruptKind) -> String {
    match kind {
        InterruptKind::Answer { question } => {
            let title = question.schema.as_ref().and_then(|schema| schema.get("title")).and_then(Value::as_str);
            title.map(snake).filter(|key| !key.is_empty()).unwrap_or_else(|| "answer".to_owned())
        }
        InterruptKind::External => "output".to_owned(),
        _ => "approval".to_owned(),
    }
}

fn snake(title: &str) -> String {
    let mut key = String::new();
    for letter in title.chars().filter(char::is_ascii_alphanumeric).take(64) {
        if letter.is_ascii_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.push(letter.to_ascii_lowercase());
    }
    key
}

impl Wants {
    /// Returns the decision of a filled form.
    ///
    /// Fails when it says nothing. Only an outspoken approval is one.
    pub fn decision(self, result: ElicitResult) -> Result<Decision, String> {
        match result.action {
            ElicitationAction::Accept => {}
            ElicitationAction::Decline => return Ok(Decision::deny("the person declined")),
            _ => return Ok(Decision::deny("the person did not decide")),
        }
        let content = result.content.unwrap_or(Value::Null);
        let taken = |key: Option<&'static str>| match key {
            None => Ok(content.clone()),
            Some(key) => content.get(key).cloned().ok_or_else(|| format!("the form has no `{key}`")),
        };
        match self {
            Self::Permission => match content.get("decision").and_then(Value::as_str) {
                Some("approve") => Ok(Decision::Approve),
                Some("deny") => {
                    let reason = content.get("reason").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
                    Ok(Decision::Deny { reason: reason.map(str::to_owned) })
                }
                _ => Err("`decision` is neither `approve` nor `deny`".to_owned()),
            },
            Self::Answer(key) => Ok(Decision::Answer { value: taken(key)? }),
            Self::Output(key) => Ok(Decision::Respond { output: taken(key)? }),
        }
    }
}

/// Returns the question, and all parts of its call, a line each.
fn described(question: String, shown: &Shown) -> String {
    let origin = shown.origin.iter().map(|origin| format!("The tool comes from {origin}."));
    let arguments = shown.lines.iter().map(|(name, value)| format!("{name}: {value}"));
    let strangers = (!shown.tainted_by.is_empty())
        .then(|| format!("Text of strangers came before, from: {}", shown.tainted_by.join(", ")));
    let lines: Vec<String> = [question].into_iter().chain(origin).chain(arguments).chain(strangers).collect();
    lines.join("\n")
}

fn permission() -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "title": "Decision", "enum": ["approve", "deny"] },
            "reason": { "type": "string", "title": "Reason", "description": "Why not; the model is told." },
        },
        "required": ["decision"],
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Returns the schema as the fields of a form; below `key` where it is no object.
fn fields(schema: &Value, key: &'static str) -> Option<(JsonObject, Option<&'static str>)> {
    let root = resolved(schema, schema);
    if let Some(properties) = root.get("properties").and_then(Value::as_object) {
        let mut form = Map::new();
        form.insert("type".into(), "object".into());
        let flat = properties.iter().map(|(name, field)| (one_line(name), optional(resolved(schema, field))));
        form.insert("properties".into(), Value::Object(flat.collect()));
        if let Some(required) = root.get("required") {
            form.insert("required".into(), required.clone());
        }
        return Some((form, None));
    }
    if root.get("type").and_then(Value::as_str).is_some_and(|kind| kind == "object") {
        return None;
    }
    let mut field = root;
    for meta in ["$schema", "$defs"] {
        field.shift_remove(meta);
    }
    let form = json!({ "type": "object", "properties": { key: field }, "required": [key] });
    match form {
        Value::Object(form) => Some((form, Some(key))),
        _ => None,
    }
}

/// Returns a schema with the definition that it refers to in its place.
fn resolved(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut own = schema.as_object().cloned().unwrap_or_default();
    let Some(Value::String(reference)) = own.shift_remove("$ref") else { return own };
    let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).and_then(Value::as_object);
    let mut merged = target.cloned().unwrap_or_default();
    merged.extend(own);
    merged
}

/// Returns an optional field without `null`, which no form has.
fn optional(mut field: Map<String, Value>) -> Value {
    if let Some(Value::Array(kinds)) = field.get("type") {
        let kinds: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
        if let [kind] = kinds[..] {
            let kind = kind.clone();
            field.insert("type".into(), kind);
        }
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.shift_remove("default");
    }
    Value::Object(field)
}

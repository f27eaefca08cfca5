//! The client of a call as its operator: forms that ask for decisions, the decisions in filled forms, and progress.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use futures_util::future::BoxFuture;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, JsonObject,
    NotificationMetaObject, ProgressNotificationParam, ProgressToken,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tool_run::run::CallView;
use tool_runtime::{
    Rejection, ToolSpec,
    agent::{ApprovalRequest, Event, ExternalCall, Observer, Operator, QuestionRequest},
    feedback::{Problem, one_line},
    run::{Decision, InterruptKind},
    tool::Progress,
};

use super::{caller::RequestClient, task_list::TaskHandle};
use crate::{host::lock, mcp::denials::CLOSED};

/// The maximum number of unsent progress messages. The server drops further ones, so that a client that does not read does not
/// slow down a tool.
const MAX_WAITING: usize = 64;

/// The way to ask a person at the client.
pub enum AskVia {
    /// The client of the request: by a request of the server while the call waits, or by the result when the run is suspended.
    /// The client may support one of them, or neither.
    Caller(Arc<RequestClient>),
    /// The state of a task, which the client reads.
    Task(TaskHandle),
    /// No way: the client cannot ask anybody.
    Nobody,
}

/// The reason for denying a call that needs a person, if the client cannot ask anybody.
const NO_ELICITATION: &str = "this client cannot ask anybody: it supports no elicitation";

/// The reason for denying a call if no form can carry the question.
pub const NO_FORM: &str = "a form of the client cannot carry the question: its fields are texts, numbers, booleans and choices of \
    texts, not lists or objects";

/// The operator of one call: its client.
pub struct CallOperator {
    ask_via: AskVia,
    /// The number of forms of a task so far.
    asked: AtomicU32,
    needed_elicitation: AtomicBool,
    progress: Option<ProgressQueue>,
}

impl CallOperator {
    /// Creates the operator of a call. If there is a progress `token`, also returns the receiver of the call's progress.
    pub fn new(ask_via: AskVia, token: Option<ProgressToken>) -> (Self, Option<Receiver<ProgressNotificationParam>>) {
        let (asked, needed_elicitation) = (AtomicU32::new(0), AtomicBool::new(false));
        let (progress, receiver) = token.map(ProgressQueue::new).unzip();
        (Self { ask_via, asked, needed_elicitation, progress }, receiver)
    }

    /// Returns whether the call needed elicitation, which this client does not support.
    pub fn needed_elicitation(&self) -> bool {
        self.needed_elicitation.load(Ordering::Relaxed)
    }

    /// Asks with a form. If no form can carry the question, returns a denial.
    async fn ask(&self, form: Option<Form>) -> Decision {
        let Some(Form { params, kind, key }) = form else { return Decision::deny_undecided(NO_FORM) };
        let response = match &self.ask_via {
            AskVia::Caller(caller) if caller.can_ask() && !caller.is_modern() => {
                caller.peer().create_elicitation(params).await.map_err(|error| error.to_string())
            }
            AskVia::Task(task) => {
                // A task can use each key only once.
                let number = self.asked.fetch_add(1, Ordering::Relaxed);
                let key = if number == 0 { key } else { format!("{key}_{number}") };
                match task.request_input(key, InputRequest::Elicitation(ElicitRequest::new(params))).await {
                    Some(value) => serde_json::from_value(value).map_err(|error| error.to_string()),
                    None => Err("the task was called off".to_owned()),
                }
            }
            AskVia::Caller(_) | AskVia::Nobody => {
                self.needed_elicitation.store(true, Ordering::Relaxed);
                return Decision::deny_undecided(NO_ELICITATION);
            }
        };
        match response {
            Ok(result) => kind.read_decision(result).unwrap_or_else(Decision::deny),
            Err(error) => Decision::deny_undecided(format_args!("the client could not ask: {error}")),
        }
    }
}

impl Observer for CallOperator {
    fn on_event(&self, event: Event<'_>) {
        let Event::CallProgress(progress) = event else { return };
        if let Some(queue) = &self.progress {
            queue.push(progress);
        }
        if let (AskVia::Task(task), Some(message)) = (&self.ask_via, &progress.message) {
            task.set_status_message(message);
        }
    }
}

impl Operator for CallOperator {
    fn can_decide(&self) -> bool {
        !matches!(&self.ask_via, AskVia::Caller(caller) if caller.accepts_input_requests())
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let open = &request.interrupt;
        Box::pin(self.ask(Form::of(&open.kind, &open.shown, None, request.feedback.as_ref())))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let form = call_view(&call.spec, &call.arguments).and_then(|shown| {
            let output = output_schema(&call.spec);
            Form::of(&InterruptKind::External, &shown, output.as_ref(), call.feedback.as_ref())
        });
        Box::pin(async move {
            match self.ask(form).await {
                Decision::Respond { output } => Some(output.to_string()),
                _ => None,
            }
        })
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        let kind = InterruptKind::Question { question: request.question.clone() };
        let form = call_view(&request.spec, &Value::Object(serde_json::Map::new()))
            .and_then(|shown| Form::of(&kind, &shown, None, request.feedback.as_ref()));
        Box::pin(self.ask(form))
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.approve(request)
    }
}

fn call_view(spec: &ToolSpec, arguments: &Value) -> Option<CallView> {
    CallView::new(spec, &arguments.to_string(), &[]).ok()
}

pub fn output_schema(spec: &ToolSpec) -> Option<Value> {
    Some(spec.output.as_ref()?.neutral().clone())
}

/// The queue of a call's progress messages to the client.
struct ProgressQueue {
    token: ProgressToken,
    sender: Sender<ProgressNotificationParam>,
    last: Mutex<LastProgress>,
}

/// The progress that the client knows.
#[derive(Clone, Copy, Default)]
struct LastProgress {
    done: Option<f64>,
    total: Option<f64>,
    /// Set if the tool has reported a number. A preliminary output has none.
    has_numbers: bool,
}

impl LastProgress {
    /// Returns the progress to send next. Its number grows with each message, as the protocol requires, whatever the tool
    /// reports, and its total stays until the tool reports another.
    fn next(self, progress: &Progress) -> Self {
        let number = Some(progress.done).filter(|done| progress.preliminary.is_none() && done.is_finite());
        let has_numbers = self.has_numbers || number.is_some();
        let done = match (self.done, number) {
            (None, number) => number.unwrap_or(0.0),
            (Some(last), Some(number)) if number > last => number,
            // The smallest step, so that the tool's next number is larger.
            (Some(last), _) if has_numbers => last.next_up(),
            (Some(last), _) => last + 1.0,
        };
        let reported = progress.total.filter(|total| total.is_finite());
        let total = reported.or(self.total.filter(|total| done <= *total));
        Self { done: Some(done), total, has_numbers }
    }
}

impl ProgressQueue {
    fn new(token: ProgressToken) -> (Self, Receiver<ProgressNotificationParam>) {
        let (sender, receiver) = channel(MAX_WAITING);
        (Self { token, sender, last: Mutex::default() }, receiver)
    }

    /// Adds a message, unless the queue is full.
    fn push(&self, progress: &Progress) {
        let mut last = lock(&self.last);
        let Ok(place) = self.sender.try_reserve() else { return };
        let next = last.next(progress);
        let Some(done) = next.done.filter(|done| done.is_finite()) else { return };
        let mut param = ProgressNotificationParam::new(self.token.clone(), done);
        param.total = next.total;
        param.message = progress.message.clone().or_else(|| Some(progress.preliminary.as_ref()?.to_string()));
        if let Some(output) = &progress.preliminary {
            let mut meta = NotificationMetaObject::new();
            meta.insert("tool-runtime/preliminary".to_owned(), output.clone());
            param.meta = Some(meta);
        }
        place.send(param);
        *last = next;
    }
}

/// Returns the feedback on a filled form for the next form, from the reason why the form was rejected.
pub fn form_rejection(reason: String) -> Rejection {
    Rejection::one(Problem::new("", tool_runtime::feedback::ProblemKind::Invalid, reason))
}

/// A form that asks for a decision.
pub struct Form {
    pub params: ElicitRequestParams,
    pub kind: FormKind,
    /// The key of the form in its call.
    pub key: String,
}

/// The kind of decision in a filled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// An approval or a denial.
    Permission,
    /// The answer to a question.
    Answer(FormValue),
    /// The output of an external call.
    Output(FormValue),
}

/// The value in a filled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormValue {
    /// The field that holds the value; `None` if the value is the whole content.
    field: Option<&'static str>,
    /// The fields that are `null` if the person leaves them empty. A form has no `null`.
    nullable: Vec<String>,
}

impl FormValue {
    /// Reads the value from the content of a form.
    ///
    /// Fails when the content is not an object, or the value is missing.
    fn read(&self, content: Option<Value>) -> Result<Value, String> {
        let mut content = match content {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(content)) => content,
            Some(_) => return Err("the content of the form is not an object".to_owned()),
        };
        for name in &self.nullable {
            content.entry(name.as_str()).or_insert(Value::Null);
        }
        match self.field {
            None => Ok(Value::Object(content)),
            Some(field) => content.shift_remove(field).ok_or_else(|| format!("the form has no `{field}`")),
        }
    }
}

/// The field of an answer that is not an object.
const ANSWER_FIELD: &str = "answer";

/// The field of an output that is not an object.
const OUTPUT_FIELD: &str = "output";

impl Form {
    /// Creates the form for an interrupt. `output` is the schema of the tool's output.
    ///
    /// Returns `None` if no form can carry the question: a form's fields are texts, numbers, booleans and choices.
    pub fn of(
        interrupt: &InterruptKind,
        shown: &CallView,
        output: Option<&Value>,
        feedback: Option<&Rejection>,
    ) -> Option<Self> {
        // The name comes first, because a title may come from a remote server.
        let name = match &shown.title {
            Some(title) => format!("{} ({title})", shown.tool),
            None => shown.tool.clone(),
        };
        let (text, kind, schema) = match interrupt {
            InterruptKind::Approval { .. } => {
                let question = shown.challenge.clone().unwrap_or_else(|| format!("Allow this call of `{name}`?"));
                (describe_call(question, shown), FormKind::Permission, permission_schema())
            }
            InterruptKind::Reconcile => {
                let question = format!(
                    "The program that ran this call of `{name}` was stopped, and its outcome is unknown. Run it again?"
                );
                (describe_call(question, shown), FormKind::Permission, permission_schema())
            }
            InterruptKind::Question { question } => match &question.schema {
                None => (question.for_people(), FormKind::Permission, permission_schema()),
                Some(schema) => {
                    let (schema, value) = form_schema(schema, ANSWER_FIELD)?;
                    (question.text.clone(), FormKind::Answer(value), schema)
                }
            },
            InterruptKind::External => {
                let (schema, value) = form_schema(output?, OUTPUT_FIELD)?;
                let question = shown.challenge.clone().unwrap_or_else(|| format!("`{name}` asks you:"));
                (describe_call(question, shown), FormKind::Output(value), schema)
            }
            InterruptKind::Inner { .. } => return None,
        };
        let message = match feedback {
            Some(feedback) => format!("{text}\n\nNot accepted: {feedback}"),
            None => text,
        };
        let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
        let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        Some(Self { params, kind, key: form_key(interrupt) })
    }
}

/// Returns the key of a form: the title of the answer's schema, if a question has one, or the kind of decision.
fn form_key(interrupt: &InterruptKind) -> String {
    match interrupt {
        InterruptKind::Question { question } => {
            let title = question.schema.as_ref().and_then(|schema| schema.get("title")).and_then(Value::as_str);
            title.map(to_snake_case).filter(|key| !key.is_empty()).unwrap_or_else(|| "answer".to_owned())
        }
        InterruptKind::External => "output".to_owned(),
        _ => "approval".to_owned(),
    }
}

fn to_snake_case(title: &str) -> String {
    let mut key = String::new();
    for letter in title.chars().filter(char::is_ascii_alphanumeric).take(64) {
        if letter.is_ascii_uppercase() && !key.is_empty() {
            key.push('_');
        }
        key.push(letter.to_ascii_lowercase());
    }
    key
}

impl FormKind {
    /// Reads the decision from a filled form.
    ///
    /// Fails when the form contains no decision. Only an explicit approval approves.
    pub fn read_decision(&self, result: ElicitResult) -> Result<Decision, String> {
        match result.action {
            ElicitationAction::Accept => {}
            ElicitationAction::Decline => return Ok(Decision::deny("the person declined")),
            _ => return Ok(Decision::deny(CLOSED)),
        }
        let text = |name: &str| result.content.as_ref()?.get(name)?.as_str();
        match self {
            Self::Permission => match text("decision") {
                Some("approve") => Ok(Decision::Approve),
                Some("deny") => {
                    let reason = text("reason").filter(|text| !text.trim().is_empty());
                    Ok(Decision::Deny { reason: reason.map(str::to_owned) })
                }
                _ => Err("`decision` is neither `approve` nor `deny`".to_owned()),
            },
            Self::Answer(value) => Ok(Decision::Answer { value: value.read(result.content)? }),
            Self::Output(value) => Ok(Decision::Respond { output: value.read(result.content)? }),
        }
    }
}

/// Returns the question, followed by the call's origin, arguments and taint, one per line.
fn describe_call(question: String, shown: &CallView) -> String {
    let origin = shown.origin.iter().map(|origin| format!("The tool comes from {origin}."));
    let arguments = shown.lines.iter().map(|(name, value)| format!("{name}: {value}"));
    let untrusted = (!shown.tainted_by.is_empty())
        .then(|| format!("Untrusted text came before, from: {}", shown.tainted_by.join(", ")));
    let lines: Vec<String> = [question].into_iter().chain(origin).chain(arguments).chain(untrusted).collect();
    lines.join("\n")
}

fn permission_schema() -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "title": "Decision", "enum": ["approve", "deny"] },
            "reason": { "type": "string", "title": "Reason", "description": "The reason, for the model." },
        },
        "required": ["decision"],
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Returns the schema of a form for a value of `schema`. A value that is not an object becomes the field `name`.
///
/// Returns `None` if the value is an object whose members are not known.
fn form_schema(schema: &Value, name: &'static str) -> Option<(JsonObject, FormValue)> {
    let root = resolve_reference(schema, schema);
    let (mut properties, mut required, mut nullable) = (Map::new(), Vec::new(), Vec::new());
    let mut add = |name: &str, field: &Value, is_required: bool| {
        let FormField { schema, is_nullable } = FormField::new(schema, field);
        match is_required {
            true if is_nullable => nullable.push(name.to_owned()),
            true => required.push(name.to_owned()),
            false => {}
        }
        properties.extend(schema.map(|schema| (one_line(name), schema)));
    };
    let field = if let Some(members) = root.get("properties").and_then(Value::as_object) {
        let names = root.get("required").and_then(Value::as_array);
        let is_required = |name: &str| names.is_some_and(|names| names.iter().any(|one| one == name));
        members.iter().for_each(|(name, field)| add(name, field, is_required(name)));
        None
    } else if root.get("type").and_then(Value::as_str) == Some("object") {
        return None;
    } else {
        add(name, &Value::Object(root), true);
        Some(name)
    };
    let form = json!({ "type": "object", "properties": properties, "required": required });
    match form {
        Value::Object(form) => Some((form, FormValue { field, nullable })),
        _ => None,
    }
}

/// Returns a schema with its reference replaced by the definition.
fn resolve_reference(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut own = schema.as_object().cloned().unwrap_or_default();
    let Some(Value::String(reference)) = own.shift_remove("$ref") else { return own };
    let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).and_then(Value::as_object);
    let mut merged = target.cloned().unwrap_or_default();
    merged.extend(own);
    merged
}

/// A field of a form. Forms support neither `null` nor all keywords of JSON Schema. The answer is checked against the whole
/// schema, so keywords can be left out.
struct FormField {
    /// The field's schema; `None` if only `null` fits, so that there is nothing to fill in.
    schema: Option<Value>,
    is_nullable: bool,
}

impl FormField {
    fn new(root: &Value, field: &Value) -> Self {
        let (mut field, mut is_nullable) = (resolve_reference(root, field), false);
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(all)) = field.shift_remove(keyword) else { continue };
            let schemas = all.iter().map(|one| resolve_reference(root, one));
            let others: Vec<_> = schemas.filter(|one| one.get("type").is_none_or(|kind| kind != "null")).collect();
            is_nullable |= others.len() < all.len();
            let texts: Option<Vec<_>> =
                others.iter().map(|one| one.get("const").filter(|text| text.is_string())).collect();
            match (&others[..], texts) {
                ([one], _) => field = one.clone().into_iter().chain(field).collect(),
                (_, Some(texts)) if !texts.is_empty() => {
                    field.insert("type".into(), "string".into());
                    if others.iter().all(|one| one.contains_key("title")) {
                        let titled =
                            others.iter().zip(texts).map(|(one, text)| json!({ "const": text, "title": one["title"] }));
                        field.insert("oneOf".into(), titled.collect());
                    } else {
                        field.insert("enum".into(), json!(texts));
                    }
                }
                _ => drop(field.insert(keyword.into(), json!(others))),
            }
        }
        for (keyword, null) in [("type", json!("null")), ("enum", Value::Null)] {
            let Some(Value::Array(all)) = field.get_mut(keyword) else { continue };
            let before = all.len();
            all.retain(|one| *one != null);
            is_nullable |= all.len() < before;
        }
        if let Some([kind]) = field.get("type").and_then(Value::as_array).map(Vec::as_slice) {
            let kind = kind.clone();
            field.insert("type".into(), kind);
        }
        if field.get("type").is_some_and(|kind| kind == "null") {
            return Self { schema: None, is_nullable: true };
        }
        let is_integer = field.get("type").is_some_and(|kind| kind == "integer");
        field.retain(|keyword, value| match keyword.as_str() {
            "$schema" | "$defs" => false,
            "format" => ["email", "uri", "date", "date-time"].iter().any(|known| value == known),
            "minimum" | "maximum" if is_integer => value.is_i64(),
            "default" => !value.is_null() && (!is_integer || value.is_i64()),
            _ => true,
        });
        Self { schema: Some(Value::Object(field)), is_nullable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers and totals that a client receives for these reports. `None` is a preliminary output.
    fn sent(reports: &[Option<(f64, Option<f64>)>]) -> Vec<(f64, Option<f64>)> {
        let (queue, mut receiver) = ProgressQueue::new(ProgressToken(rmcp::model::NumberOrString::Number(1)));
        for report in reports {
            let mut progress = match report {
                Some((done, total)) => Progress::new("1", *done, *total),
                None => Progress::new("1", 0.0, None),
            };
            progress.preliminary = report.is_none().then_some(Value::Null);
            queue.push(&progress);
        }
        std::iter::from_fn(|| receiver.try_recv().ok()).map(|param| (param.progress, param.total)).collect()
    }

    #[test]
    fn numbers_grow_and_totals_stay() {
        let (three, nan) = (Some(3.0), f64::NAN);
        let up = f64::next_up;
        let cases = [
            (vec![None, None, None], vec![(0.0, None), (1.0, None), (2.0, None)]),
            (vec![None, Some((1.0, three))], vec![(0.0, None), (1.0, three)]),
            (vec![Some((0.0, three)), None, Some((1.0, None))], vec![(0.0, three), (up(0.0), three), (1.0, three)]),
            (vec![Some((1.0, three)), Some((1.0, three))], vec![(1.0, three), (up(1.0), three)]),
            (vec![Some((2.0, three)), Some((1.0, Some(5.0)))], vec![(2.0, three), (up(2.0), Some(5.0))]),
            // More than the total was done: the total was wrong.
            (vec![Some((2.0, three)), Some((4.0, None))], vec![(2.0, three), (4.0, None)]),
            (vec![Some((0.0, None)), None, Some((1.0, None))], vec![(0.0, None), (up(0.0), None), (1.0, None)]),
            (vec![Some((nan, Some(nan))), Some((1.0, Some(f64::INFINITY)))], vec![(0.0, None), (1.0, None)]),
            (vec![Some((f64::MAX, None)), None, Some((1.0, None))], vec![(f64::MAX, None)]),
            (vec![Some((-2.0, None)), Some((-1.0, None))], vec![(-2.0, None), (-1.0, None)]),
        ];
        for (reports, expected) in cases {
            assert_eq!(sent(&reports), expected, "{reports:?}");
        }
    }
}

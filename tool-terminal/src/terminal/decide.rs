//! The questions to a person: approvals, edits, answers to tools, and calls with an unknown outcome.

use serde_json::{Map, Value};

use super::Terminal;
use tool_run::run::CallView;
use tool_runtime::agent::{ApprovalRequest, Decision, ExternalCall, QuestionRequest};
use tool_runtime::feedback::{Rejection, one_line};
use tool_runtime::run::{ArgumentPattern, InterruptKind};
use tool_runtime::tool::{Effect, ToolSpec};

/// The maximum depth of objects that the person fills in field by field. The person types deeper objects as JSON, because a
/// schema can contain itself.
const MAX_DEPTH: usize = 4;

/// Shows the call and asks for a decision: yes, no with a reason, an edit, or, if offered, yes for the rest of the run.
pub async fn approve(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    let id = &request.interrupt.id;
    // The arguments that a "yes" would allow, edited or not.
    let mut arguments = request.arguments.clone();
    let mut is_valid = true;
    if let Some(feedback) = &request.feedback {
        show_feedback(terminal, feedback);
        if let Some(refused) = terminal.last_value(id) {
            (arguments, is_valid) = (refused, false);
        }
    }
    show_waiting_call(terminal, &request.spec, &request.interrupt.shown);
    loop {
        let is_edited = arguments != request.arguments;
        // The offer describes the original arguments, so the question omits the offer after an edit.
        let offer = offered_pattern(request).filter(|_| !is_edited);
        let question = write_approval_question(offer);
        let Some(answer) = ask_choice(terminal, &question).await else { return deny_unanswered() };
        match answer.as_str() {
            "a" | "always" if offer.is_some() => return Decision::ApproveForRun,
            "y" | "yes" if !is_edited => return Decision::Approve,
            "y" | "yes" if !is_valid => {
                terminal.say("The tool rejects these arguments. Answer e to edit them again, or n to deny the call.");
            }
            "y" | "yes" => return Decision::Edit { arguments: terminal.keep_value(id, arguments) },
            "n" | "no" => return Decision::Deny { reason: ask_reason(terminal).await },
            "e" | "edit" => {
                let Some(edited) = edit_arguments(terminal, &request.spec, &arguments).await else {
                    return deny_unanswered();
                };
                is_valid = false;
                arguments = edited;
                match request.check(&arguments).await {
                    Err(feedback) => {
                        show_feedback(terminal, &feedback);
                        terminal.say("  Your edit is kept. Answer e to continue it.");
                    }
                    Ok(shown) => {
                        is_valid = true;
                        terminal.say(if shown.arguments != arguments {
                            "  The tool has changed your arguments. The changed call is:"
                        } else if arguments == request.arguments {
                            "  The arguments are unchanged:"
                        } else {
                            "  Your edit is kept. With it, the call is:"
                        });
                        arguments = shown.arguments.clone();
                        show_waiting_call(terminal, &request.spec, &shown);
                    }
                }
            }
            _ => terminal.say("Please answer with one of the letters in brackets."),
        }
    }
}

/// Asks for a choice, and returns the typed text in lower case. Returns `None` if the input has ended or cannot be read.
async fn ask_choice(terminal: &Terminal, question: &str) -> Option<String> {
    Some(terminal.ask(question).await.ok()??.trim().to_lowercase())
}

/// Returns the denial of a request that nobody answered before the input ended.
fn deny_unanswered() -> Decision {
    Decision::deny_undecided("nobody answered")
}

fn offered_pattern(request: &ApprovalRequest) -> Option<&ArgumentPattern> {
    match &request.interrupt.innermost().kind {
        InterruptKind::Approval { offer } => offer.as_ref(),
        _ => None,
    }
}

fn write_approval_question(offer: Option<&ArgumentPattern>) -> String {
    let Some(pattern) = offer else { return "Allow it? [y]es, [n]o, [e]dit: ".to_owned() };
    let same = pattern.0.iter().map(|(name, value)| format!("{} {}", one_line(name), one_line(&value.to_string())));
    let same = same.collect::<Vec<_>>().join(", ");
    let same = if same.is_empty() { String::new() } else { format!(" with {same}") };
    format!("Allow it? [y]es, [a]lways in this run{same}, [n]o, [e]dit: ")
}

/// Asks for the reason of a denial.
async fn ask_reason(terminal: &Terminal) -> Option<String> {
    let reason = terminal.ask("Why? (the model sees it; empty for no reason) ").await.ok().flatten();
    reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Asks the person to execute an external tool and to type its output.
pub async fn execute(terminal: &Terminal, call: &ExternalCall) -> Option<String> {
    match &call.feedback {
        Some(feedback) => show_feedback(terminal, feedback),
        None => show_call(terminal, &call.spec, &call.argument_texts),
    }
    let last = call.feedback.as_ref().and_then(|_| terminal.last_value(&call.call_id));
    let value = ask_value(terminal, "answer", output_schema(&call.spec), last).await.ok()?;
    // Typing nothing is an output of nothing, unless the schema refuses `null`.
    Some(terminal.keep_value(&call.call_id, value.unwrap_or_default()).to_string())
}

fn show_feedback(terminal: &Terminal, feedback: &Rejection) {
    for line in feedback.lines() {
        terminal.say(&format!("  ! {}", one_line(&line)));
    }
}

/// Shows the waiting call, and the sources of untrusted text in the conversation.
fn show_waiting_call(terminal: &Terminal, spec: &ToolSpec, shown: &CallView) {
    show_call(terminal, spec, &shown.lines);
    if !shown.tainted_by.is_empty() {
        terminal.say(&format!("  (the conversation contains untrusted text from {})", shown.tainted_by.join(", ")));
    }
}

/// Shows the tool with its effect and origin, the challenge, and all arguments, complete and without deceptive characters.
fn show_call(terminal: &Terminal, spec: &ToolSpec, lines: &[(String, String)]) {
    let effect = match spec.options.effect {
        Effect::ReadOnly => "reads",
        Effect::Write => "changes something",
        Effect::Destructive => "DESTROYS something",
    };
    let name = one_line(&spec.name);
    terminal.say(&match &spec.title {
        Some(title) => format!("\n{} ({name}; {effect})", one_line(title)),
        None => format!("\n{name} ({effect})"),
    });
    if let Some(origin) = &spec.options.origin {
        terminal.say(&format!("  from {}", one_line(origin)));
    }
    if let Some(challenge) = spec.challenge(lines) {
        terminal.say(&format!("  {}", one_line(&challenge)));
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in lines {
        // JSON escapes line breaks, so a value cannot look like another line.
        terminal.say(&format!("  {:width$}  {}", one_line(name), one_line(value)));
    }
}

/// Asks the person a tool's question, for permission or for a value.
pub async fn answer(terminal: &Terminal, request: &QuestionRequest) -> Decision {
    match &request.feedback {
        Some(feedback) => show_feedback(terminal, feedback),
        None => {
            let name = request.spec.title.as_deref().unwrap_or(&request.spec.name);
            terminal.say(&format!("\n{} asks: {}", one_line(name), one_line(&request.question.text)));
            if let Some(url) = request.question.need.as_ref().and_then(|need| need.url.as_deref()) {
                terminal.say(&format!("  {}", one_line(url)));
            }
        }
    }
    let Some(schema) = &request.question.schema else { return ask_permission(terminal).await };
    let last = request.feedback.as_ref().and_then(|_| terminal.last_value(&request.call_id));
    match ask_value(terminal, "answer", schema, last).await {
        Ok(Some(value)) => Decision::Answer { value: terminal.keep_value(&request.call_id, value) },
        // The person has typed nothing.
        Ok(None) => Decision::Deny { reason: None },
        Err(InputEnded) => deny_unanswered(),
    }
}

async fn ask_permission(terminal: &Terminal) -> Decision {
    loop {
        let Some(answer) = ask_choice(terminal, "Allow it? [y]es, [n]o: ").await else { return deny_unanswered() };
        match answer.as_str() {
            "y" | "yes" => return Decision::Approve,
            "n" | "no" => return Decision::Deny { reason: ask_reason(terminal).await },
            _ => terminal.say("Please answer y or n."),
        }
    }
}

/// Asks the person for the outcome of a call that ran when the program stopped.
pub async fn reconcile(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    if let Some(feedback) = &request.feedback {
        show_feedback(terminal, feedback);
    }
    terminal.say("\nThe program stopped while this call ran. Nobody knows whether it took effect:");
    show_waiting_call(terminal, &request.spec, &request.interrupt.shown);
    loop {
        let question = "What happened? [d]one, [f]ailed, [a]gain (run it once more), [l]eave it: ";
        let Some(answer) = ask_choice(terminal, question).await else { return Decision::Deny { reason: None } };
        match answer.as_str() {
            "d" | "done" => {
                let output = ask_value(terminal, "its output", output_schema(&request.spec), None).await;
                return match output {
                    Ok(output) => Decision::Respond { output: output.unwrap_or_default() },
                    Err(InputEnded) => Decision::Deny { reason: None },
                };
            }
            "f" | "failed" => {
                let error =
                    terminal.ask("What was the error? (the model sees it) ").await.ok().flatten().unwrap_or_default();
                let error = if error.trim().is_empty() { "the call failed".to_owned() } else { error };
                return Decision::Fail { error };
            }
            "a" | "again" => return Decision::Approve,
            "l" | "leave" => return Decision::Deny { reason: None },
            _ => terminal.say("Please answer d, f, a or l."),
        }
    }
}

/// Asks for each parameter. An empty answer keeps the current value. Returns `None` if the input has ended.
async fn edit_arguments(terminal: &Terminal, spec: &ToolSpec, arguments: &Value) -> Option<Value> {
    let schema = spec.input.neutral();
    terminal.say("  Press Enter to keep the value in brackets.");
    let mut edited = arguments.as_object().cloned().unwrap_or_default();
    Questions { terminal, root: schema }.ask_entries(schema, &mut edited, 0).await.ok()?;
    Some(Value::Object(edited))
}

/// The error for a question that nobody answered before the input ended.
struct InputEnded;

/// Asks for a value of `schema`. An empty answer keeps `current`. Returns `None` if the person has typed nothing and there is no
/// current value.
///
/// Fails when the input has ended.
async fn ask_value(
    terminal: &Terminal,
    name: &str,
    schema: &Value,
    current: Option<Value>,
) -> Result<Option<Value>, InputEnded> {
    let (questions, resolved) = (Questions { terminal, root: schema }, resolve(schema, schema));
    match current {
        Some(Value::Object(mut object)) if resolved["properties"].is_object() => {
            questions.ask_entries(resolved, &mut object, 1).await?;
            Ok(Some(Value::Object(object)))
        }
        current => questions.ask_value(name, schema, current.as_ref(), 0).await,
    }
}

/// The terminal, and the root schema to which references are relative.
struct Questions<'a> {
    terminal: &'a Terminal,
    root: &'a Value,
}

impl Questions<'_> {
    async fn ask_entries(
        &self,
        schema: &Value,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), InputEnded> {
        let names = schema["required"].as_array();
        let is_required = |name: &str| names.is_some_and(|names| names.iter().any(|one| one == name));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let current = object.get(name).or_else(|| property.get("default").filter(|_| depth > 0));
            let Some(given) = Box::pin(self.ask_value(name, property, current, depth)).await? else { continue };
            // The person has left an optional object empty, field by field.
            let has_fields = resolve(property, self.root)["properties"].is_object();
            let is_left_out = has_fields && given.as_object().is_some_and(Map::is_empty) && !is_required(name);
            if !is_left_out || object.contains_key(name) {
                object.insert(name.clone(), given);
            }
        }
        Ok(())
    }

    /// Asks for an object field by field, and for other values as JSON. For texts, quotes are optional. Returns `None` if the
    /// person has typed nothing and there is no current value.
    async fn ask_value(
        &self,
        name: &str,
        schema: &Value,
        current: Option<&Value>,
        depth: usize,
    ) -> Result<Option<Value>, InputEnded> {
        let resolved = resolve(schema, self.root);
        if current.is_none() && resolved["properties"].is_object() && depth < MAX_DEPTH {
            let mut object = Map::new();
            self.ask_entries(resolved, &mut object, depth + 1).await?;
            return Ok(Some(Value::Object(object)));
        }
        let shown = match current {
            Some(Value::String(text)) => format!(" [{}]", one_line(text)),
            Some(value) => format!(" [{}]", one_line(&value.to_string())),
            None => String::new(),
        };
        let answer = self.terminal.ask(&format!("  {}{shown}: ", one_line(name))).await;
        let typed = answer.ok().flatten().ok_or(InputEnded)?;
        let typed = typed.trim();
        Ok(if typed.is_empty() { current.cloned() } else { Some(read_value(typed, resolved, self.root)) })
    }
}

/// Reads what a person typed for a value of `schema`: JSON, if it is of a kind that the schema allows, or else a text if the
/// schema allows texts. So `""` is the empty text, and `"null"` is a text where `null` is allowed, too.
fn read_value(typed: &str, schema: &Value, root: &Value) -> Value {
    let mut kinds = Vec::new();
    let is_known = add_kinds(schema, root, &mut kinds, 0);
    let allows = |kind: &str| is_known && kinds.contains(&kind);
    match typed {
        "y" | "yes" if allows("boolean") && !allows("string") => return Value::Bool(true),
        "n" | "no" if allows("boolean") && !allows("string") => return Value::Bool(false),
        _ => {}
    }
    // A whole number is also a number.
    let fits = |json: &Value| allows(kind_of(json)) || json.is_number() && allows("number");
    let json: Option<Value> = serde_json::from_str(typed).ok();
    json.filter(|json| !allows("string") || fits(json)).unwrap_or_else(|| unquote(typed).into())
}

/// Adds the kinds of values that `schema` allows. Returns `false` if the schema does not state them.
fn add_kinds<'a>(schema: &'a Value, root: &'a Value, kinds: &mut Vec<&'a str>, depth: usize) -> bool {
    let schema = resolve(schema, root);
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array());
    match (&schema["type"], alternatives) {
        (Value::String(kind), _) => kinds.push(kind),
        (Value::Array(all), _) => kinds.extend(all.iter().filter_map(Value::as_str)),
        (_, Some(all)) if depth < MAX_DEPTH => return all.iter().all(|one| add_kinds(one, root, kinds, depth + 1)),
        _ => match (schema["enum"].as_array(), schema.get("const")) {
            (Some(all), _) => all.iter().for_each(|one| kinds.push(kind_of(one))),
            (None, Some(one)) => kinds.push(kind_of(one)),
            (None, None) => return false,
        },
    }
    true
}

/// Returns the kind of a value, as `type` names it.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns a text that a person typed: in the quotes of a JSON string, in other quotes around the whole, or without.
fn unquote(typed: &str) -> String {
    serde_json::from_str::<String>(typed).unwrap_or_else(|_| {
        let inner = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inner.filter(|inner| !inner.contains('"')).unwrap_or(typed).to_owned()
    })
}

fn output_schema(spec: &ToolSpec) -> &Value {
    spec.output.as_ref().map_or(&Value::Null, |schema| schema.neutral())
}

/// Returns the schema that a reference leads to, or `schema` itself.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
    target.unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn quotes_around_a_whole_text_are_optional() {
        for (typed, text) in [
            ("plain", "plain"),
            (r#""a \"b\"""#, r#"a "b""#),
            (r#""C:\dir""#, r"C:\dir"),
            (r#"He said "hi""#, r#"He said "hi""#),
            (r#""a" and "b""#, r#""a" and "b""#),
        ] {
            assert_eq!(unquote(typed), text);
        }
    }
}

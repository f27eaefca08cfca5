//! Interrupts of a run, as a client reads them.

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};

use super::{Visibility, Writer};
use crate::protocol::ag_ui::event::Object;
use crate::protocol::ag_ui::outcome::{self, object};
use crate::protocol::approval_id;
use tool_run::run::Shown;
use tool_runtime::gate;
use tool_runtime::run::{Interrupt, InterruptKind, Principal, Run, Time};
use tool_runtime::tool::Effect;

/// The interrupt that stands for `open`, for the client of `by`.
pub fn interrupt(writer: &Writer, run: &Run, open: &Interrupt, by: &Principal) -> outcome::Interrupt {
    let id = approval_id(run.id(), open);
    let expires_at = open.expires.and_then(iso);
    if !run.may_decide(open, by) {
        let message = Some("somebody else has to decide".to_owned());
        return outcome::Interrupt {
            id,
            reason: "tool:elsewhere".to_owned(),
            message,
            expires_at,
            ..outcome::Interrupt::default()
        };
    }
    let name = run.call(open.id.call()).map_or("", |call| call.name.as_str());
    let tool_call_id = writer.knows_calls_of(name).then(|| open.id.call().to_string());
    let of_call = if tool_call_id.is_some() { "tool_call" } else { "confirmation" };
    let is_inside = matches!(open.kind, InterruptKind::Inner { .. });
    let (reason, message, schema) = match &open.innermost().kind {
        InterruptKind::Answer { question } => match &question.schema {
            Some(Value::Object(schema)) => ("input_required", question.text.clone(), schema.clone()),
            Some(_) => ("input_required", question.text.clone(), Object::new()),
            None => ("confirmation", question.text.clone(), approval(None)),
        },
        InterruptKind::Reconcile => {
            let message =
                format!("`{}` was started, and nobody knows what came of it. Start it again?", open.shown.tool);
            (of_call, message, approval(None))
        }
        // A call inside of a call is no call of this conversation: what the client makes of it is an answer.
        InterruptKind::External => ("input_required", handed_out(&open.shown), writer.output_of(open, name)),
        // Whose arguments they are, this client does not know.
        _ if is_inside => (of_call, message(&open.shown), approval(None)),
        _ => (of_call, message(&open.shown), approval(Some(writer.arguments_of(name)))),
    };
    outcome::Interrupt {
        id,
        reason: reason.to_owned(),
        message: Some(message),
        tool_call_id,
        response_schema: Some(schema),
        expires_at,
        metadata: Some(metadata(&open.shown)),
        subagent_run_id: None,
    }
}

impl Writer {
    /// Returns `true` if the client knows a call of the tool `name` when a person has to decide about it.
    fn knows_calls_of(&self, name: &str) -> bool {
        let Some(spec) = self.tools.get(name).map(|tool| tool.spec()) else { return true };
        (self.visible)(spec) != Visibility::Hidden && !(spec.traits.external && self.is_held(name))
    }

    /// The schema of the output of the tool that `open` is about, where it is known.
    fn output_of(&self, open: &Interrupt, name: &str) -> Object {
        let spec = gate::tool_of(&self.tools, name, open).map(|tool| tool.spec());
        let schema = spec.and_then(|spec| spec.output.as_ref()?.neutral().as_object());
        schema.cloned().unwrap_or_default()
    }

    /// The schema of the arguments of the tool `name`, where it can stand inside another.
    fn arguments_of(&self, name: &str) -> Value {
        let schema = self.tools.get(name).map(|tool| tool.spec().input.neutral());
        // References are to the root.
        schema.filter(|schema| !refers(schema)).cloned().unwrap_or_else(|| json!({ "type": "object" }))
    }
}

/// Returns the message about a call that the client is to execute.
fn handed_out(shown: &Shown) -> String {
    let title = shown.title.as_deref().unwrap_or(&shown.tool);
    format!("Execute `{title}` with the arguments in `metadata`, and answer with its output.")
}

/// Returns the question about a call: the tool's own, or one with all arguments.
fn message(shown: &Shown) -> String {
    if let Some(challenge) = &shown.challenge {
        return challenge.clone();
    }
    let title = shown.title.as_deref().unwrap_or(&shown.tool);
    let lines: Vec<_> = shown.lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    if lines.is_empty() { format!("Allow `{title}`?") } else { format!("Allow `{title}` with {}?", lines.join(", ")) }
}

/// The schema of an answer that allows or denies, and may replace the arguments.
fn approval(arguments: Option<Value>) -> Object {
    let mut properties = object([
        ("approved", json!({ "type": "boolean" })),
        ("reason", json!({ "type": "string", "description": "Why not." })),
    ]);
    if let Some(Value::Object(mut arguments)) = arguments {
        arguments.insert("description".to_owned(), "In place of all of the call's arguments.".into());
        properties.insert("editedArgs".to_owned(), Value::Object(arguments));
    }
    object([("type", "object".into()), ("properties", Value::Object(properties)), ("required", json!(["approved"]))])
}

/// Returns the metadata by which a client can show a call that it does not know.
fn metadata(shown: &Shown) -> Object {
    let effect = match shown.effect {
        Effect::ReadOnly => "read_only",
        Effect::Write => "write",
        Effect::Destructive => "destructive",
    };
    let mut metadata = object([
        ("tool", shown.tool.as_str().into()),
        ("arguments", shown.arguments.clone()),
        ("effect", effect.into()),
    ]);
    if !shown.tainted_by.is_empty() {
        metadata.insert("taintedBy".to_owned(), json!(shown.tainted_by));
    }
    metadata
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.keys().any(|key| key.starts_with('$')) || members.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Returns a time as ISO 8601, in UTC; `None` behind the last that can be written.
fn iso(time: Time) -> Option<String> {
    let time = DateTime::from_timestamp_millis(i64::try_from(time.0).ok()?)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(iso(Time(0)).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(iso(Time(951_782_400_001)).as_deref(), Some("2000-02-29T00:00:00.001Z"));
        assert_eq!(iso(Time(1_795_343_999_999)).as_deref(), Some("2026-11-22T10:39:59.999Z"));
    }
}

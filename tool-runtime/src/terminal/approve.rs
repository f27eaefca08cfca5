//! Approvals, edits and external calls, by a person at a terminal.

use serde_json::Value;

use super::{Terminal, edit};
use crate::agent::{ApprovalRequest, Decision, ExternalCall};
use crate::feedback::{Rejection, one_line};
use crate::tool::{Effect, ToolSpec};

/// Shows the call and asks: yes, no with a reason, or edit.
pub(super) async fn approve(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    let mut arguments = request.arguments.clone();
    if let Some(feedback) = &request.feedback {
        tell(terminal, feedback);
    }
    show(terminal, &request.spec, &arguments);
    let nobody = || Decision::Deny { reason: Some("nobody answered".to_owned()) };
    loop {
        let Ok(Some(answer)) = terminal.ask("Allow it? [y]es, [n]o, [e]dit: ").await else { return nobody() };
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" if arguments == request.arguments => return Decision::Approve,
            "y" | "yes" => return Decision::Edit { arguments },
            "n" | "no" => {
                let reason = terminal.ask("Why? (the model is told; empty for no reason) ").await.ok().flatten();
                let reason = reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
                return Decision::Deny { reason };
            }
            "e" | "edit" => match edit::edit(terminal, &request.spec, &arguments).await {
                Some(edited) => {
                    arguments = edited;
                    show(terminal, &request.spec, &arguments);
                }
                None => return nobody(),
            },
            _ => terminal.say("Please answer y, n or e."),
        }
    }
}

/// Asks the person to do what an external tool is for.
pub(super) async fn execute(terminal: &Terminal, call: &ExternalCall) -> Option<String> {
    match &call.feedback {
        Some(feedback) => tell(terminal, feedback),
        None => show(terminal, &call.spec, &call.arguments),
    }
    let schema = call.spec.output.as_ref().map(|schema| schema.neutral().clone()).unwrap_or_default();
    edit::value(terminal, "answer", &schema).await.map(|value| value.to_string())
}

fn tell(terminal: &Terminal, feedback: &Rejection) {
    for problem in feedback.problems() {
        terminal.say(&format!("  ! {}", one_line(&problem.to_string())));
    }
}

/// The tool, what it does to the world, and every argument, with nothing cut and nothing that could fool the eye.
fn show(terminal: &Terminal, spec: &ToolSpec, arguments: &Value) {
    let title = spec.title.as_deref().unwrap_or(&spec.name);
    let effect = match spec.traits.effect {
        Effect::ReadOnly => "reads",
        Effect::Write => "changes something",
        Effect::Destructive => "DESTROYS something",
    };
    terminal.say(&format!("\n{} ({}; {effect})", one_line(title), one_line(&spec.name)));
    if let Some(challenge) = spec.challenge(arguments) {
        terminal.say(&format!("  {}", one_line(&challenge)));
    }
    let Some(arguments) = arguments.as_object() else { return };
    let width = arguments.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, value) in arguments {
        // JSON writes line breaks out, so a value cannot pretend to be another line.
        terminal.say(&format!("  {:width$}  {}", one_line(name), one_line(&value.to_string())));
    }
}

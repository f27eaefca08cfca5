//! Approvals, edits and external calls, by a person at a terminal.

use serde_json::Value;

use super::{Terminal, edit};
use crate::agent::{ApprovalRequest, Decision, ExternalCall};
use crate::feedback::{Rejection, one_line};
use crate::run::{ObligationKind, Shown};
use crate::schema::Validator;
use crate::tool::{Effect, ToolSpec};

/// Shows the call and asks: yes, no with a reason, edit, or, where that is offered, yes for the rest of the run.
pub(super) async fn approve(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    let mut arguments = request.arguments.clone();
    if let Some(feedback) = &request.feedback {
        tell(terminal, feedback);
    }
    show(terminal, &request.spec, &request.obligation.shown);
    let mut fits = true;
    let nobody = || Decision::deny("nobody answered");
    let offer = match &request.obligation.kind {
        ObligationKind::Approval { offer } => offer.as_ref(),
        _ => None,
    };
    let question = match offer {
        None => "Allow it? [y]es, [n]o, [e]dit: ".to_owned(),
        Some(pattern) => {
            let same =
                pattern.0.iter().map(|(name, value)| format!("{} {}", one_line(name), one_line(&value.to_string())));
            let same = same.collect::<Vec<_>>().join(", ");
            let same = if same.is_empty() { String::new() } else { format!(" with {same}") };
            format!("Allow it? [y]es, [a]lways in this run{same}, [n]o, [e]dit: ")
        }
    };
    loop {
        let Ok(Some(answer)) = terminal.ask(&question).await else { return nobody() };
        match answer.trim().to_lowercase().as_str() {
            "a" | "always" if offer.is_some() && arguments == request.arguments => return Decision::ApproveForRun,
            "y" | "yes" if arguments == request.arguments => return Decision::Approve,
            "y" | "yes" if !fits => terminal.say("Not with these arguments: please edit them again, or say no."),
            "y" | "yes" => return Decision::Edit { arguments },
            "n" | "no" => return Decision::Deny { reason: reason(terminal).await },
            "e" | "edit" => match edit::edit(terminal, &request.spec, &arguments).await {
                Some(edited) => {
                    arguments = edited;
                    fits = match misfit(&request.spec, &arguments) {
                        Some(rejection) => {
                            tell(terminal, &rejection);
                            false
                        }
                        None => true,
                    };
                    if arguments == request.arguments {
                        show(terminal, &request.spec, &request.obligation.shown);
                    } else {
                        lines(terminal, &request.spec, &written(&arguments));
                    }
                }
                None => return nobody(),
            },
            _ => terminal.say("Please answer y, n or e."),
        }
    }
}

/// Asks why not.
pub(super) async fn reason(terminal: &Terminal) -> Option<String> {
    let reason = terminal.ask("Why? (the model is told; empty for no reason) ").await.ok().flatten();
    reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Asks the person to do what an external tool is for.
pub(super) async fn execute(terminal: &Terminal, call: &ExternalCall) -> Option<String> {
    match &call.feedback {
        Some(feedback) => tell(terminal, feedback),
        None => lines(terminal, &call.spec, &call.written),
    }
    let schema = call.spec.output.as_ref().map(|schema| schema.neutral().clone()).unwrap_or_default();
    edit::value(terminal, "answer", &schema).await.map(|value| value.to_string())
}

pub(super) fn tell(terminal: &Terminal, feedback: &Rejection) {
    for line in feedback.lines() {
        terminal.say(&format!("  ! {}", one_line(&line)));
    }
}

/// What is wrong with edited arguments as far as the schema tells. The tool itself is asked when they are approved; then
/// they would have to be typed again.
fn misfit(spec: &ToolSpec, arguments: &Value) -> Option<Rejection> {
    let problems = Validator::compile(spec.input.neutral()).ok()?.problems(arguments, "");
    (!problems.is_empty()).then(|| Rejection::new(problems))
}

/// Edited arguments as texts. They are used as they are, so there are no digits to be lost.
fn written(arguments: &Value) -> Vec<(String, String)> {
    let entries = arguments.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// The call as it waits, and what makes it doubtful.
pub(super) fn show(terminal: &Terminal, spec: &ToolSpec, shown: &Shown) {
    lines(terminal, spec, &shown.lines);
    if !shown.tainted_by.is_empty() {
        terminal.say(&format!("  (after text of strangers, from {})", shown.tainted_by.join(", ")));
    }
}

/// The tool, what it does to the world, and every argument, with nothing cut and nothing that could fool the eye.
fn lines(terminal: &Terminal, spec: &ToolSpec, written: &[(String, String)]) {
    let effect = match spec.traits.effect {
        Effect::ReadOnly => "reads",
        Effect::Write => "changes something",
        Effect::Destructive => "DESTROYS something",
    };
    let name = one_line(&spec.name);
    terminal.say(&match &spec.title {
        Some(title) => format!("\n{} ({name}; {effect})", one_line(title)),
        None => format!("\n{name} ({effect})"),
    });
    if let Some(challenge) = spec.challenge(written) {
        terminal.say(&format!("  {}", one_line(&challenge)));
    }
    let width = written.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in written {
        // JSON writes line breaks out, so a value cannot pretend to be another line.
        terminal.say(&format!("  {:width$}  {}", one_line(name), one_line(value)));
    }
}

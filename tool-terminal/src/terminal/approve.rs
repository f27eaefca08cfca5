//! Approvals, edits and external calls, by a person at a terminal.

use super::{Terminal, edit};
use tool_runtime::agent::{ApprovalRequest, Decision, ExternalCall};
use tool_runtime::feedback::{Rejection, one_line};
use tool_runtime::run::{ObligationKind, Pattern, Shown};
use tool_runtime::tool::{Effect, ToolSpec};

/// Shows the call and asks: yes, no with a reason, edit, or, where that is offered, yes for the rest of the run.
pub(super) async fn approve(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    let nobody = || Decision::deny("nobody answered");
    let id = &request.obligation.id;
    // What the person would allow: the call as it waits, or as it was edited.
    let mut arguments = request.arguments.clone();
    let mut fits = true;
    if let Some(feedback) = &request.feedback {
        tell(terminal, feedback);
        if let Some(refused) = terminal.last(id) {
            (arguments, fits) = (refused, false);
        }
    }
    show(terminal, &request.spec, &request.obligation.shown);
    let question = question(request);
    loop {
        let Ok(Some(answer)) = terminal.ask(&question).await else { return nobody() };
        let is_edited = arguments != request.arguments;
        match answer.trim().to_lowercase().as_str() {
            "a" | "always" if offer(request).is_some() && !is_edited => return Decision::ApproveForRun,
            "y" | "yes" if !is_edited => return Decision::Approve,
            "y" | "yes" if !fits => terminal.say("Not with these arguments: please edit them again, or say no."),
            "y" | "yes" => return Decision::Edit { arguments: terminal.given(id, arguments) },
            "n" | "no" => return Decision::Deny { reason: reason(terminal).await },
            "e" | "edit" => {
                let Some(edited) = edit::edit(terminal, &request.spec, &arguments).await else { return nobody() };
                fits = false;
                arguments = edited;
                match request.check(&arguments).await {
                    Err(feedback) => tell(terminal, &feedback),
                    Ok(shown) => {
                        fits = true;
                        if shown.arguments != arguments {
                            terminal.say("  The tool makes this of it:");
                        }
                        arguments = shown.arguments.clone();
                        show(terminal, &request.spec, &shown);
                    }
                }
            }
            _ => terminal.say("Please answer y, n or e."),
        }
    }
}

fn offer(request: &ApprovalRequest) -> Option<&Pattern> {
    match &request.obligation.innermost().kind {
        ObligationKind::Approval { offer } => offer.as_ref(),
        _ => None,
    }
}

fn question(request: &ApprovalRequest) -> String {
    let Some(pattern) = offer(request) else { return "Allow it? [y]es, [n]o, [e]dit: ".to_owned() };
    let same = pattern.0.iter().map(|(name, value)| format!("{} {}", one_line(name), one_line(&value.to_string())));
    let same = same.collect::<Vec<_>>().join(", ");
    let same = if same.is_empty() { String::new() } else { format!(" with {same}") };
    format!("Allow it? [y]es, [a]lways in this run{same}, [n]o, [e]dit: ")
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
    let last = call.feedback.as_ref().and_then(|_| terminal.last(&call.call_id));
    let value = edit::value(terminal, "answer", &schema, last).await?;
    Some(terminal.given(&call.call_id, value).to_string())
}

pub(super) fn tell(terminal: &Terminal, feedback: &Rejection) {
    for line in feedback.lines() {
        terminal.say(&format!("  ! {}", one_line(&line)));
    }
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
    if let Some(origin) = &spec.traits.origin {
        terminal.say(&format!("  from {}", one_line(origin)));
    }
    if let Some(challenge) = spec.challenge(written) {
        terminal.say(&format!("  {}", one_line(&challenge)));
    }
    let width = written.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in written {
        // JSON writes line breaks out, so a value cannot pretend to be another line.
        terminal.say(&format!("  {:width$}  {}", one_line(name), one_line(value)));
    }
}

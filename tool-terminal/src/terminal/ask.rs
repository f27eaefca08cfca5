//! Questions of running tools, and calls of which nobody knows what came of them.

use super::{Terminal, approve, edit};
use tool_runtime::agent::{ApprovalRequest, Decision, QuestionRequest};
use tool_runtime::feedback::one_line;

/// Asks the person what the tool asks: for permission, or for a value.
pub(super) async fn answer(terminal: &Terminal, request: &QuestionRequest) -> Decision {
    match &request.feedback {
        Some(feedback) => approve::tell(terminal, feedback),
        None => {
            let name = request.spec.title.as_deref().unwrap_or(&request.spec.name);
            terminal.say(&format!("\n{} asks: {}", one_line(name), one_line(&request.question.text)));
        }
    }
    let Some(schema) = &request.question.schema else { return permit(terminal).await };
    let last = request.feedback.as_ref().and_then(|_| terminal.last(&request.call_id));
    match edit::value(terminal, "answer", schema, last).await {
        // Nothing was typed.
        Some(value) if value.is_null() => Decision::Deny { reason: None },
        Some(value) => Decision::Answer { value: terminal.given(&request.call_id, value) },
        None => Decision::deny("nobody answered"),
    }
}

async fn permit(terminal: &Terminal) -> Decision {
    loop {
        let Ok(Some(answer)) = terminal.ask("Allow it? [y]es, [n]o: ").await else {
            return Decision::deny("nobody answered");
        };
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Decision::Approve,
            "n" | "no" => return Decision::Deny { reason: approve::reason(terminal).await },
            _ => terminal.say("Please answer y or n."),
        }
    }
}

/// Asks the person what came of a call whose program was stopped while it ran.
pub(super) async fn reconcile(terminal: &Terminal, request: &ApprovalRequest) -> Decision {
    if let Some(feedback) = &request.feedback {
        approve::tell(terminal, feedback);
    }
    terminal.say("\nThe program was stopped while this call ran. It may have been done, or not:");
    approve::show(terminal, &request.spec, &request.obligation.shown);
    loop {
        let question = "What came of it? [d]one, [f]ailed, [a]gain: run it once more, [l]eave it: ";
        let Ok(Some(answer)) = terminal.ask(question).await else { return Decision::Deny { reason: None } };
        match answer.trim().to_lowercase().as_str() {
            "d" | "done" => {
                let schema = request.spec.output.as_ref().map(|schema| schema.neutral().clone()).unwrap_or_default();
                match edit::value(terminal, "its output", &schema, None).await {
                    Some(output) => return Decision::Respond { output },
                    None => return Decision::Deny { reason: None },
                }
            }
            "f" | "failed" => {
                let error = terminal.ask("How? (the model is told) ").await.ok().flatten().unwrap_or_default();
                let error = if error.trim().is_empty() { "the call failed".to_owned() } else { error };
                return Decision::Fail { error };
            }
            "a" | "again" => return Decision::Approve,
            "l" | "leave" => return Decision::Deny { reason: None },
            _ => terminal.say("Please answer d, f, a or l."),
        }
    }
}

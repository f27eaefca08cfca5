//! Decisions of a request, taken one by one: what does not fit leaves the rest alone.

use tool_runtime::{
    AgentError,
    agent::Session,
    run::{Decision, ObligationId, ObligationKind, Refusal},
};

use super::Tools;
use crate::host::{ApiError, Chat};

/// Decides. What is refused is told as a remark, and what it was about still waits; the result of a client's call that does
/// not fit is a failure of that call.
///
/// Fails when nothing can be decided at all: the store is not there.
pub(super) async fn decide(
    chat: &mut Chat,
    session: &mut Session,
    decisions: Vec<(ObligationId, Decision)>,
    tools: &Tools,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    if decisions.is_empty() {
        return Ok(());
    }
    let for_answers = tools.for_answers(session.run());
    chat.change_agent(|agent| agent.tools(for_answers));
    for (id, decision) in decisions {
        let is_result = session.run().obligation(&id).is_some_and(|open| matches!(open.kind, ObligationKind::External));
        let refusal = match chat.decide(session, &id, decision).await {
            Ok(()) => continue,
            Err(AgentError::Refused(refusal)) => refusal,
            Err(error) => return Err(error.into()),
        };
        warnings.push(format!("{id}: {refusal}"));
        if is_result && matches!(refusal, Refusal::Invalid { .. }) {
            let error = format!("the application's result of the call does not fit: {refusal}");
            match chat.decide(session, &id, Decision::Fail { error }).await {
                Ok(()) | Err(AgentError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let all = tools.all.clone();
    chat.change_agent(|agent| agent.tools(all));
    Ok(())
}

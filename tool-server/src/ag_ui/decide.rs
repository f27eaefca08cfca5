//! Decisions of a request, taken one by one: what does not fit leaves the rest alone.

use tool_runtime::{
    Toolset,
    agent::Session,
    run::{Decision, ObligationId},
};

use super::Tools;
use crate::host::{ApiError, Chat, Taken};

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
    let with = |chat: &mut Chat, session: &mut Session, tools: Toolset| {
        session.change_agent(|agent| agent.tools(tools.clone()));
        chat.change_agent(|agent| agent.tools(tools));
    };
    let for_answers = tools.for_answers(session.run());
    with(chat, session, for_answers);
    for (id, decision) in decisions {
        match chat.decide(session, &id, decision).await? {
            Taken::AsSaid => {}
            Taken::AsFailure(refusal) | Taken::Not(refusal) => warnings.push(format!("{id}: {refusal}")),
        }
    }
    with(chat, session, tools.all.clone());
    Ok(())
}

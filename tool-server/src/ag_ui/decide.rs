//! The decisions of a request, submitted one by one.

use crate::protocol::ag_ui::Plan;
use tool_runtime::{
    Toolset,
    agent::Session,
    run::{ObligationId, ObligationKind, Refusal, Run},
};

use super::Tools;
use crate::host::{ApiError, Chat, Taken};

/// Submits the decisions of `plan`. A refused one becomes a warning, and its call still waits; an output that does not fit
/// fails its call.
///
/// Fails when the store is not available.
pub(super) async fn decide(
    chat: &mut Chat,
    session: &mut Session,
    plan: &mut Plan,
    tools: &Tools,
) -> Result<(), ApiError> {
    if plan.decisions.is_empty() {
        return Ok(());
    }
    let with = |chat: &mut Chat, session: &mut Session, tools: Toolset| {
        session.change_agent(|agent| agent.tools(tools.clone()));
        chat.change_agent(|agent| agent.tools(tools));
    };
    let for_answers = tools.for_answers(session.run());
    with(chat, session, for_answers);
    let mut at = 0;
    while let Some((id, decision)) = plan.decisions.get(at).cloned() {
        let (refusal, still_waits) = match chat.decide(session, &id, decision).await? {
            Taken::AsSaid => (None, false),
            Taken::AsFailure(refusal) => (Some(refusal), false),
            Taken::Not(refusal) => {
                // In the other two cases somebody else was faster, so nothing waits any more.
                let is_open = !matches!(refusal, Refusal::Closed { .. } | Refusal::Conflict { .. });
                (Some(refusal), is_open && !is_result(session.run(), &id))
            }
        };
        plan.warnings.extend(refusal.map(|refusal| format!("{id}: {refusal}")));
        if still_waits {
            plan.refused(session.run(), &id);
        } else {
            at += 1;
        }
    }
    with(chat, session, tools.all.clone());
    Ok(())
}

/// Whether the obligation `id` waits for the result of a call that the client executes.
fn is_result(run: &Run, id: &ObligationId) -> bool {
    run.obligation(id).is_some_and(|open| matches!(open.kind, ObligationKind::External))
}

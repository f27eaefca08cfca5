//! Calls that were refused, on their way to whoever mends them.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};

use super::Driver;
use crate::agent::{Agent, BadCall, MendedCall, Repair};
use crate::message::{AssistantPart, Message, ToolCall, ToolMessage};
use crate::model::{Delta, Request, ToolChoice, Turn, Usage};
use crate::run::{Author, Call, CallId, Event, Inspection, Phase, Stage};

/// How long whoever mends a call is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A call that was refused, and what is to be done about it.
pub(super) struct Mending {
    call: CallId,
    inspection: Inspection,
    mended: Option<(MendedCall, Usage)>,
    by: Author,
}

impl Driver<'_> {
    /// Lets a refused call be mended, if somebody can. Gives the inspection back otherwise.
    pub(super) fn mend(&mut self, id: &CallId, inspection: Inspection) -> Option<Inspection> {
        let Some(repair) = self.agent.repair.clone() else { return Some(inspection) };
        let Some(call) = self.kept.run.call(id).filter(|call| may_be_mended(call)) else { return Some(inspection) };
        let Some(told) = inspection.refused(&call.name) else { return Some(inspection) };
        if self.kept.run.phase() == Phase::Generating || self.bad.contains(id) {
            // It is looked at again when the turn has ended, or it is being mended.
            return None;
        }
        self.bad.push(id.clone());
        let bad = BadCall {
            call: ToolCall {
                id: id.to_string(),
                name: call.name.clone(),
                arguments: call.arguments().text.to_string(),
            },
            told,
            rejection: inspection.rejection().cloned(),
            spec: self.inspector.tools().get(&call.name).map(|tool| Arc::clone(tool.spec())),
            tools: self.inspector.tools().clone(),
            messages: self.turn_context.shared_messages(),
        };
        let (agent, call) = (self.agent.clone(), id.clone());
        self.mending.spawn(async move {
            let by = match repair {
                Repair::Application(_) => Author::Repair,
                Repair::Model => Author::Model,
            };
            let work = async move {
                match repair {
                    Repair::Application(mend) => Some((mend(bad).await?, Usage::default())),
                    Repair::Model => ask_again(&agent, bad).await,
                }
            };
            // Whoever fails mends nothing.
            let work = tokio::time::timeout(PATIENCE, AssertUnwindSafe(work).catch_unwind()).await;
            let mended = work.ok().and_then(Result::ok).flatten();
            Box::new(Mending { call, inspection, mended, by })
        });
        None
    }

    /// Somebody was asked to mend a call.
    pub(super) fn mended(&mut self, mending: Mending) {
        let Mending { call, inspection, mended, by } = mending;
        self.bad.retain(|bad| *bad != call);
        if let Some((MendedCall { name, arguments }, usage)) = mended {
            let event = Event::Repaired { call: call.clone(), name, arguments, by, usage };
            if self.feed(event).is_ok() {
                return;
            }
        }
        self.feed_late(Event::Inspected { call, inspection, at: self.now() });
    }
}

/// Each call is mended once, and not when it was started or looked at by a person.
fn may_be_mended(call: &Call) -> bool {
    call.stage() == Stage::Proposed && call.attempts == 0 && call.revisions().is_empty()
}

/// Asks the model for the one call again.
async fn ask_again(agent: &Agent, bad: BadCall) -> Option<(MendedCall, Usage)> {
    let answer =
        ToolMessage { call_id: bad.call.id.clone(), tool: bad.call.name.clone(), content: bad.told, is_error: true };
    let choice = bad.spec.as_ref().map_or(ToolChoice::Required, |spec| ToolChoice::Tool(spec.name.clone()));
    let mut messages = bad.messages.to_vec();
    messages.push(Message::Assistant { content: vec![AssistantPart::Call(bad.call)] });
    messages.push(Message::Tool(answer));
    let request = Request::new(&messages, bad.tools.list()).with_choice(&choice).with_settings(&agent.settings);
    let mut stream = agent.model.stream(request);
    let mut turn = Turn::default();
    while let Some(delta) = stream.next().await {
        let delta = delta.ok()?;
        let is_last = matches!(delta, Delta::Finish(_));
        turn.push(delta);
        if is_last {
            break;
        }
    }
    let call = turn.calls().next()?;
    Some((MendedCall::call(&call.name, &call.arguments), turn.usage))
}

//! One turn of the model.

use futures_util::StreamExt;

use super::{Agent, AgentError, Event};
use crate::message::Message;
use crate::model::{Delta, FinishReason, ModelError, ModelErrorKind, Request, Turn};
use crate::toolset::ToolList;

/// Asks the model and puts its turn together, telling the front as it comes.
pub(super) async fn turn(agent: &Agent, messages: &[Message], tools: &ToolList) -> Result<Turn, AgentError> {
    let request = Request::new(messages, tools).with_choice(&agent.tool_choice).with_settings(&agent.settings);
    let mut stream = agent.model.stream(request);
    let mut turn = Turn::default();
    while let Some(delta) = stream.next().await {
        let delta = delta?;
        tell(agent, &turn, &delta);
        let finished = matches!(delta, Delta::Finish(_));
        turn.push(delta);
        if finished {
            break;
        }
    }
    match &turn.finish {
        Some(_) => Ok(turn),
        None => Err(ModelError::new(ModelErrorKind::Protocol, "the model's answer was cut off before its end").into()),
    }
}

fn tell(agent: &Agent, turn: &Turn, delta: &Delta) {
    match delta {
        Delta::Text(text) => agent.front.event(Event::Text(text)),
        Delta::Reasoning(text) => agent.front.event(Event::Reasoning(text)),
        Delta::CallStart { id, name, .. } => agent.front.event(Event::CallAnnounced { id, name }),
        Delta::CallArguments { index, text } => {
            if let Some(call) = turn.call_at(*index) {
                agent.front.event(Event::CallArguments { id: &call.id, text });
            }
        }
        Delta::Finish(reason) => agent.front.event(Event::StepFinished { reason, usage: turn.usage }),
        _ => {}
    }
}

/// What a model is told about calls that it asked for in a turn that was cut.
pub(super) fn cut(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Length => "the call did not run: the answer was cut at its size limit",
        FinishReason::ContentFilter => "the call did not run: a content filter cut the answer",
        _ => "the call did not run: the answer was not finished",
    }
}

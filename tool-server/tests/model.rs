//! A model whose script is the user's last message.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use tool_runtime::{
    Message,
    message::Usage,
    model::{Delta, FinishReason, ModelError, ModelErrorKind, OwnedRequest},
};

/// A step of a model's turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    Text(String),
    Reasoning(String),
    /// A call of a tool.
    Call(String),
    /// More of the arguments of a call, by its number.
    Arguments(usize, String),
    /// The arguments of a call are complete.
    End(usize),
    /// The turn ends for this reason.
    Finish(Finish),
    /// The model fails.
    Fail,
    /// The connection is lost.
    Disconnect,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Finish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
}

/// The turns of a model, in order.
pub(crate) type Script = Vec<Vec<Step>>;

/// Plays the next turn of the script.
#[allow(clippy::needless_pass_by_value, reason = "`FunctionModel` passes it by value")]
pub(crate) fn play(request: OwnedRequest) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let last_prompt = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let played = last_prompt.map_or(0, |last_prompt| {
        request.messages[last_prompt..].iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
    });
    let script: Script = match last_prompt.map(|at| &request.messages[at]) {
        Some(Message::User { content }) => {
            let text = content.iter().filter_map(tool_runtime::Part::as_text).next_back();
            text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        }
        _ => Script::default(),
    };
    let turn = script.into_iter().nth(played).unwrap_or_else(|| vec![Step::Text("done".to_owned())]);
    let mut deltas = Vec::new();
    let mut calls = 0;
    for step in turn {
        match step {
            Step::Text(text) => deltas.push(Ok(Delta::Text(text))),
            Step::Reasoning(text) => deltas.push(Ok(Delta::Reasoning(text))),
            Step::Call(name) => {
                let id = format!("call_{}", NEXT.fetch_add(1, Ordering::Relaxed));
                deltas.push(Ok(Delta::CallStart { index: calls, id, name }));
                calls += 1;
            }
            Step::Arguments(number, text) if calls > 0 => {
                deltas.push(Ok(Delta::CallArguments { index: number % calls, text }));
            }
            Step::End(number) if calls > 0 => deltas.push(Ok(Delta::CallEnd { index: number % calls })),
            Step::Finish(finish) => {
                deltas.push(Ok(Delta::Finish(match finish {
                    Finish::Stop => FinishReason::Stop,
                    Finish::ToolCalls => FinishReason::ToolCalls,
                    Finish::Length => FinishReason::Length,
                    Finish::ContentFilter => FinishReason::ContentFilter,
                })));
                return stream::iter(deltas);
            }
            Step::Fail => {
                deltas.push(Err(ModelError::new(ModelErrorKind::Script, "secret: the script says so")));
                return stream::iter(deltas);
            }
            Step::Disconnect => return stream::iter(deltas),
            Step::Arguments(..) | Step::End(_) => {}
        }
    }
    deltas.push(Ok(Delta::Usage(Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() })));
    deltas.push(Ok(Delta::Finish(if calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop })));
    stream::iter(deltas)
}

//! Results of calls that the client executes.

use std::{cell::LazyCell, collections::HashSet};

use serde_json::Value;

use super::{NO_RESULT, Plan, history};
use crate::protocol::ag_ui::input::RunInput;
use crate::protocol::ag_ui::message::{Content, Message};
use tool_runtime::message::{Message as Known, Part};
use tool_runtime::run::{Call, CallResult, Decision, Obligation, ObligationKind, Run};
use tool_runtime::toolset::Toolset;

impl Plan {
    /// Takes the results that the run waits for; of two of one call, the first. Those that came too late, or belong to no
    /// call of the conversation, are given back as notes for the model, if nothing was said since and it has not seen them.
    pub(super) fn answers(&mut self, run: &Run, input: &RunInput, tools: &Toolset) -> Vec<String> {
        let mut strays = Vec::new();
        let mut seen = HashSet::new();
        let answered = LazyCell::new(|| answered(run));
        let is_said = |message: &Message| matches!(message, Message::User { .. });
        let last_said = input.messages.iter().rposition(is_said);
        for (at, message) in input.messages.iter().enumerate() {
            let Message::Tool { tool_call_id, content, error, .. } = message else { continue };
            if !seen.insert(tool_call_id.as_str()) {
                continue;
            }
            let call = run.call(&tool_call_id.as_str().into());
            match call.and_then(Call::obligation).filter(|open| matches!(open.kind, ObligationKind::External)) {
                Some(open) => self.decisions.push((open.id.clone(), result(open, content, error.as_deref(), tools))),
                None if last_said.is_none_or(|said| said < at) && is_stray(&answered, call, tool_call_id) => {
                    strays.push(history::stray(tool_call_id, content, error.as_deref()));
                }
                None => {}
            }
        }
        if !strays.is_empty() {
            let known = said(run);
            strays.retain(|note| !known.contains(note.as_str()));
        }
        strays
    }
}

/// What a result decides.
fn result(open: &Obligation, content: &Content, error: Option<&str>, tools: &Toolset) -> Decision {
    let text = content.text();
    if let Some(error) = error.filter(|error| !error.is_empty()) {
        return Decision::Fail { error: history::failed(error, &text) };
    }
    // A tool of a client says nothing of its output, which is the text as it is; one that is declared here does.
    let has_type = tools.get(&open.shown.tool).is_some_and(|tool| tool.spec().output.is_some());
    let json = || serde_json::from_str(&text).ok();
    let output = if has_type { json() } else { None };
    Decision::Respond { output: output.unwrap_or(Value::String(text)) }
}

/// Whether a result is of no call that has one, here or in what came before: no echo of what the client was sent.
fn is_stray(answered: &HashSet<&str>, call: Option<&Call>, id: &str) -> bool {
    let Some(call) = call else { return !answered.contains(id) };
    let is_external = call.tool.as_ref().is_some_and(|tool| tool.external);
    let is_given = match call.result() {
        Some(CallResult::Failed { error, .. }) => error != NO_RESULT,
        Some(result) => result.is_success(),
        None => true,
    };
    is_external && !is_given
}

/// The calls that have a result in the conversation, be they of the run or of what came before it.
fn answered(run: &Run) -> HashSet<&str> {
    let results = run.messages().iter().filter_map(|message| match message {
        Known::Tool(answer) if !answer.is_error => Some(answer.call_id.as_str()),
        _ => None,
    });
    results.collect()
}

/// All texts of the user.
fn said(run: &Run) -> HashSet<&str> {
    let contents = run.messages().iter().filter_map(|message| match message {
        Known::User { content } => Some(content),
        _ => None,
    });
    contents.flatten().filter_map(Part::as_text).collect()
}

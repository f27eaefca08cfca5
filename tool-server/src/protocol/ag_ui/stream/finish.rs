//! How a stream ends: with exactly one event that says so, and nothing open.

use super::{Line, Stage, Writer, interrupt::interrupt};
use crate::protocol::ag_ui::event::{Event, Object};
use crate::protocol::ag_ui::frame::{EncryptedFor, Envelope, TextRole};
use crate::protocol::ag_ui::message::Content;
use crate::protocol::ag_ui::outcome::{Outcome, TokenUsage, object};
use tool_runtime::message::FinishReason;
use tool_runtime::run::{Obligation, ObligationKind, Phase, Run, StopReason};

/// The result of a call whose run ended before it had one.
const NO_RESULT: &str = "the run ended before the call had a result";

impl Writer {
    /// Ends the stream as `run` has ended, or rests. Again has no effect.
    pub(super) fn finish(&mut self, run: &Run, out: &mut Vec<u8>) {
        if !self.goes_on(out) {
            return;
        }
        let failed = match run.phase() {
            Phase::Stopped(StopReason::ModelFailed(_)) => Some(("the model failed", "model")),
            Phase::Stopped(StopReason::StepLimit) => Some(("the model did not come to an end in time", "step_limit")),
            Phase::Stopped(StopReason::OverBudget(_)) => Some(("the conversation has reached a limit", "over_budget")),
            Phase::Generating | Phase::Acting => Some(("the run was left before its end", "interrupted")),
            _ => None,
        };
        let is_over = |line: &Line| run.call(&line.id).is_none_or(|call| call.result().is_some());
        self.close(|line| is_over(line) && !(failed.is_some() && line.is_external), out);
        if let Some((message, code)) = failed {
            return self.error(message, code, out);
        }
        let waits = |open: &&Obligation| !matches!(open.kind, ObligationKind::External);
        let interrupts: Vec<_> =
            run.obligations().filter(waits).map(|open| interrupt(self, run, open, &self.by)).collect();
        let outcome = match run.phase() {
            Phase::Stopped(StopReason::Cancelled) => Outcome::Cancelled,
            _ if interrupts.is_empty() => Outcome::Success { pending_tool_call_ids: self.pending() },
            _ => Outcome::Interrupt { interrupts },
        };
        let cut = match run.phase() {
            Phase::Stopped(StopReason::Cut(finish)) => Some(name_of(&finish)),
            Phase::Stopped(StopReason::Denied) => Some("denied".to_owned()),
            _ => None,
        };
        let usage: Option<Vec<TokenUsage>> = self.used();
        let event = Event::RunFinished {
            thread_id: &self.thread_id,
            run_id: &self.run_id,
            result: None,
            outcome: Some(&outcome).filter(|outcome| self.level.takes(outcome)),
            usage: usage.as_deref(),
        };
        let metadata: Option<Object> = cut.map(|reason| object([("finishReason", reason.into())]));
        event.write_with(&Envelope { metadata: metadata.as_ref(), ..Envelope::default() }, out);
        self.stage = Stage::Finished;
    }

    /// Ends the stream with an error. The client shows `message`; `code` is for programs. Neither is the place for what only
    /// a log may hold. Again has no effect.
    pub fn fail(&mut self, message: &str, code: &str, out: &mut Vec<u8>) {
        if self.goes_on(out) {
            self.close(|line| !line.is_external, out);
            self.error(message, code, out);
        }
    }

    /// Gives the client the sealed run. It is kept by the last message that the client sent, so of all that a conversation
    /// holds, the last is the latest. The one before it stays, for who says the last message otherwise; those before that
    /// would only make requests large. Without a text nothing is kept any more: what it had would be an earlier run.
    pub(super) fn keep(&mut self, sealed: &str, out: &mut Vec<u8>) {
        if !self.goes_on(out) {
            return;
        }
        let keeper = self.keeper.take().unwrap_or_else(|| {
            let id = self.mint();
            Event::TextMessageStart { message_id: &id, role: Some(TextRole::Assistant), name: None }.write(out);
            Event::TextMessageEnd { message_id: &id }.write(out);
            id
        });
        let keeps = |entity_id: &str, encrypted_value: &str, out: &mut Vec<u8>| {
            Event::ReasoningEncryptedValue { subtype: EncryptedFor::Message, entity_id, encrypted_value }.write(out);
        };
        let latest = self.sealed_by.take().filter(|id| sealed.is_empty() && *id != keeper);
        for id in std::mem::take(&mut self.sealed_before).into_iter().chain(latest) {
            keeps(&id, "", out);
        }
        keeps(&keeper, sealed, out);
    }

    fn error(&mut self, message: &str, code: &str, out: &mut Vec<u8>) {
        let usage = self.used();
        Event::RunError { message, code: Some(code), usage: usage.as_deref() }.write(out);
        self.stage = Stage::Finished;
    }

    /// Closes what is open, and answers the calls that the client would wait for in vain. Where the run failed, those that it
    /// executes itself are its own to answer; elsewhere it would execute what has become void.
    fn close(&mut self, is_over: impl Fn(&Line) -> bool, out: &mut Vec<u8>) {
        self.end_said(out);
        self.first = 0;
        self.end_calls(out);
        let over = self.lines.iter().filter(|line| line.is_unanswered() && is_over(line));
        let over: Vec<_> = over.map(|line| line.id.clone()).collect();
        for id in over {
            self.answer(&id, &Content::Text(NO_RESULT.to_owned()), out);
        }
    }

    /// The calls that the client is to execute.
    fn pending(&self) -> Vec<String> {
        self.lines.iter().filter(|line| line.is_pending()).map(|line| line.id.to_string()).collect()
    }

    fn used(&self) -> Option<Vec<TokenUsage>> {
        TokenUsage::of(self.usage, self.model.as_deref()).map(|used| vec![used])
    }
}

/// Why a turn was cut, in one word.
fn name_of(finish: &FinishReason) -> String {
    match finish {
        FinishReason::Length => "length".to_owned(),
        FinishReason::ContentFilter => "content_filter".to_owned(),
        _ => "other".to_owned(),
    }
}

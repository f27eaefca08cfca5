//! The calls of a run, as they arrive, wait and end.

use std::time::Duration;

use serde_json::Value;

use super::{Visibility, Writer, said::pieces};
use crate::protocol::ag_ui::event::Event;
use crate::protocol::ag_ui::message::Content;
use tool_runtime::run::{Call, CallId, CallResult, Obligation, ObligationKind};

/// How many bytes of arguments wait for more before they are sent.
const SOME_BYTES: usize = 512;

/// For how long they wait.
const PATIENCE: Duration = Duration::from_millis(20);

/// Clients copy all that came of a call's arguments at every piece: so pieces are at least this part of it.
const SHARE: usize = 8;

/// For every so many bytes that were sent, the patience grows by itself.
const PATIENT_BYTES: usize = 64 * 1024;

/// A call, as far as the client knows it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: CallId,
    name: String,
    pub(super) visibility: Visibility,
    /// Whether the client executes it.
    pub(super) is_external: bool,
    /// Whether the model's provider executes it: it is no call of the run.
    pub(super) is_provided: bool,
    /// Whether the client was told to.
    pub(super) is_handed_out: bool,
    /// What the client was shown of its progress, where that is much.
    pub(super) activity: Option<Value>,
    pub(super) stage: LineStage,
}

#[derive(Debug)]
pub(super) enum LineStage {
    /// The client has not heard of it.
    Untold,
    /// Arguments arrive: how many bytes were sent, and what waits since when.
    Open { sent: usize, waiting: String, since: Duration },
    /// The arguments are complete.
    Ended,
    /// It is answered.
    Answered,
}

impl Line {
    /// Whether the client waits for a result that is not its own to give.
    pub(super) fn is_unanswered(&self) -> bool {
        !self.is_handed_out && matches!(self.stage, LineStage::Open { .. } | LineStage::Ended)
    }

    /// Whether the client is to execute it.
    pub(super) fn is_pending(&self) -> bool {
        self.is_handed_out && matches!(self.stage, LineStage::Ended)
    }
}

impl Writer {
    pub(super) fn announced(&mut self, id: &CallId, name: &str, out: &mut Vec<u8>) {
        if self.index.contains_key(id) {
            return;
        }
        self.end_said(out);
        let line = self.line(id, name);
        let is_held = line.is_external && self.is_held(name);
        let is_told = line.visibility != Visibility::Hidden && !is_held;
        self.add(line);
        if is_told {
            self.begin_call(self.lines.len() - 1, out);
        }
    }

    pub(super) fn arguments(&mut self, id: &CallId, text: &str, now: Duration, out: &mut Vec<u8>) {
        let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) else { return };
        let LineStage::Open { sent, waiting, since } = &mut line.stage else { return };
        if waiting.is_empty() {
            *since = now;
        }
        waiting.push_str(text);
        if waiting.len() >= SOME_BYTES.max(*sent / SHARE) {
            flush(line, out);
        } else if !waiting.is_empty() {
            let due = *since + patience(*sent);
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// Sends the arguments that waited for more for long enough.
    pub(super) fn flush_arguments(&mut self, now: Duration, out: &mut Vec<u8>) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        for line in &mut self.lines[self.first..] {
            let LineStage::Open { sent, waiting, since } = &line.stage else { continue };
            let due = *since + patience(*sent);
            if waiting.is_empty() {
            } else if due <= now {
                flush(line, out);
            } else {
                self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
            }
        }
    }

    /// The arguments of a call are complete.
    pub(super) fn complete(&mut self, id: &CallId, out: &mut Vec<u8>) {
        if let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) {
            end(line, out);
        }
    }

    /// The arguments of all calls of the turn are complete, or will never be.
    pub(super) fn end_calls(&mut self, out: &mut Vec<u8>) {
        for line in &mut self.lines[self.first..] {
            end(line, out);
        }
        self.due = None;
    }

    /// A call waits for somebody.
    pub(super) fn opened(&mut self, call: &Call, obligation: &Obligation, out: &mut Vec<u8>) {
        self.complete(&call.id, out);
        if !matches!(obligation.kind, ObligationKind::External) {
            return;
        }
        let at = match self.index.get(&call.id) {
            Some(at) => *at,
            // It was held in an earlier run, until it was approved.
            None => {
                let line = self.line(&call.id, &call.name);
                self.add(line)
            }
        };
        self.lines[at].is_external = true;
        let text = &call.arguments().text;
        if matches!(self.lines[at].stage, LineStage::Untold) && self.lines[at].visibility != Visibility::Hidden {
            self.begin_call(at, out);
            let line = &mut self.lines[at];
            if let LineStage::Open { waiting, .. } = &mut line.stage {
                waiting.push_str(text);
            }
            end(line, out);
        }
        self.lines[at].is_handed_out = true;
        if let Some(report) = self.client_tools.report(call.id.as_str(), &call.name, text) {
            Event::Custom { name: "tool_arguments", value: &report }.write(out);
        }
    }

    /// A call ended.
    pub(super) fn finished(&mut self, call: &Call, result: &CallResult, out: &mut Vec<u8>) {
        self.complete(&call.id, out);
        let at = self.index.get(&call.id).copied();
        let known = match at {
            Some(at) => {
                let line = &self.lines[at];
                (line.is_unanswered()).then_some(line.visibility)
            }
            // Of an earlier run: announced then, and answered now. What the client executes it has answered itself.
            None => {
                let line = self.line(&call.id, &call.name);
                let is_ours = !line.is_external && !call.tool.as_ref().is_some_and(|tool| tool.external);
                (is_ours && line.visibility != Visibility::Hidden).then_some(line.visibility)
            }
        };
        let Some(visibility) = known else { return };
        let content = match visibility {
            Visibility::WithoutResult => Content::Text(String::new()),
            _ => self.shown(call, result),
        };
        self.answer(&call.id, &content, out);
    }

    /// What a client is shown of a result: what the application gets of it, or what the model is told.
    fn shown(&self, call: &Call, result: &CallResult) -> Content {
        let json = result
            .output()
            .and_then(tool_runtime::tool::Output::as_json)
            .filter(|json| !json.trim_start().starts_with('"'));
        match json {
            Some(json) => Content::Text(json.to_owned()),
            None => Content::of(&result.for_model(&call.name, call.may_have_run()), self.level.has_parts()),
        }
    }

    /// Tells a result.
    pub(super) fn answer(&mut self, id: &CallId, content: &Content, out: &mut Vec<u8>) {
        if let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) {
            end(line, out);
            (line.stage, line.activity) = (LineStage::Answered, None);
        }
        let message_id = self.mint();
        Event::ToolCallResult { message_id: &message_id, tool_call_id: id.as_str(), content, role: None }.write(out);
    }

    /// Whether calls of a tool that the client executes are told only when it is to execute them. An approval may be asked
    /// about a tool that is declared here, whatever its declaration says: sets of tools can be put under policies.
    pub(super) fn is_held(&self, name: &str) -> bool {
        self.holds || !self.client_tools.streams(name)
    }

    /// What is known about a call that the client has not heard of.
    pub(super) fn line(&self, id: &CallId, name: &str) -> Line {
        let spec = self.tools.get(name).map(|tool| tool.spec());
        Line {
            id: id.clone(),
            name: name.to_owned(),
            visibility: spec.map_or(Visibility::Shown, |spec| (self.visible)(spec)),
            is_external: spec.is_some_and(|spec| spec.traits.external),
            is_provided: false,
            is_handed_out: false,
            activity: None,
            stage: LineStage::Untold,
        }
    }

    pub(super) fn add(&mut self, line: Line) -> usize {
        let at = self.lines.len();
        self.index.insert(line.id.clone(), at);
        self.lines.push(line);
        at
    }

    pub(super) fn begin_call(&mut self, at: usize, out: &mut Vec<u8>) {
        let parent = self.parent();
        let line = &mut self.lines[at];
        Event::ToolCallStart {
            tool_call_id: line.id.as_str(),
            tool_call_name: &line.name,
            parent_message_id: Some(&parent),
        }
        .write(out);
        line.stage = LineStage::Open { sent: 0, waiting: String::new(), since: Duration::ZERO };
    }
}

/// For how long a piece waits for more, behind `sent` bytes.
fn patience(sent: usize) -> Duration {
    PATIENCE * u32::try_from(1 + sent / PATIENT_BYTES).unwrap_or(u32::MAX)
}

fn flush(line: &mut Line, out: &mut Vec<u8>) {
    let LineStage::Open { sent, waiting, .. } = &mut line.stage else { return };
    for delta in pieces(waiting) {
        Event::ToolCallArgs { tool_call_id: line.id.as_str(), delta }.write(out);
    }
    *sent += waiting.len();
    waiting.clear();
}

fn end(line: &mut Line, out: &mut Vec<u8>) {
    let LineStage::Open { sent, waiting, .. } = &mut line.stage else { return };
    if *sent == 0 && waiting.trim_ascii().is_empty() {
        // Clients of all versions parse the text, and an empty one is no JSON.
        waiting.clear();
        waiting.push_str("{}");
    }
    flush(line, out);
    Event::ToolCallEnd { tool_call_id: line.id.as_str() }.write(out);
    line.stage = LineStage::Ended;
}

//! The events of a run's calls, from their announcement to their results.

use std::time::Duration;

use serde_json::{Value, json};

use super::{AgUiEncoder, pieces};
use crate::protocol::ag_ui::Content;
use crate::protocol::ag_ui::event::{Event, Object, object};
use crate::protocol::{Visibility, coalesce::Held};
use tool_runtime::message::{Part, ProviderPart, ProviderPartKind};
use tool_runtime::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptKind, Principal, Prompt};
use tool_runtime::tool::Progress;

/// The least size of a piece of arguments, in bytes. Each frame repeats the call's id, so small pieces wait for more.
const SOME_BYTES: usize = 512;

/// The kind of activity.
const TYPE: &str = "tool_progress";

/// The size below which an activity is written whole each time, in bytes. A patch would not be shorter.
const SMALL: usize = 512;

/// The client's view of a call.
#[derive(Debug)]
pub struct Line {
    pub id: CallId,
    name: String,
    pub visibility: Visibility,
    /// Set if the client executes the call.
    pub is_external: bool,
    /// Set if the model's provider executes the call, so that it is not a call of the run.
    pub is_provided: bool,
    /// Set if the client was asked to execute the call.
    pub is_announced: bool,
    /// The progress that the client has, if it is long enough to be patched.
    pub activity: Option<Value>,
    pub stage: LineStage,
}

#[derive(Debug)]
pub enum LineStage {
    /// The client does not know the call.
    Unknown,
    /// The arguments are arriving.
    Open(Held),
    /// The arguments are complete.
    Ended,
    /// The client has the result.
    Answered,
}

impl Line {
    /// Returns `true` if the client waits for a result that it does not provide itself.
    pub fn is_unanswered(&self) -> bool {
        !self.is_announced && matches!(self.stage, LineStage::Open(_) | LineStage::Ended)
    }

    /// Returns `true` if the client still has to execute the call.
    pub fn is_pending(&self) -> bool {
        self.is_announced && matches!(self.stage, LineStage::Ended)
    }

    /// Returns the time at which arguments that are held back must be sent.
    pub fn due(&self) -> Option<Duration> {
        if let LineStage::Open(held) = &self.stage { held.due() } else { None }
    }

    fn push(&mut self, text: &str, now: Duration, out: &mut Vec<u8>) {
        let LineStage::Open(held) = &mut self.stage else { return };
        // Arguments of only white space are not JSON, and become an empty object.
        let text = if held.is_new() { text.trim_ascii_start() } else { text };
        held.push(text, now, |text| write_arguments(&self.id, text, out));
    }

    /// Writes the arguments that are held back.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let LineStage::Open(held) = &mut self.stage else { return };
        held.take(|text| write_arguments(&self.id, text, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let LineStage::Open(held) = &self.stage else { return };
        if held.is_new() {
            // Clients of all versions parse the text, and an empty text is not JSON.
            self.push("{}", Duration::ZERO, out);
        }
        self.flush(out);
        Event::ToolCallEnd { tool_call_id: self.id.as_str() }.write(out);
        self.stage = LineStage::Ended;
    }
}

fn write_arguments(id: &CallId, text: &str, out: &mut Vec<u8>) {
    for delta in pieces(text) {
        Event::ToolCallArgs { tool_call_id: id.as_str(), delta }.write(out);
    }
}

/// Writes a person's decision, for the other tabs and devices of a client. A client sends the results of its own calls itself.
pub(super) fn decided(call: &CallId, decision: &Decision, by: &Principal, out: &mut Vec<u8>) {
    if !matches!(decision, Decision::Respond { .. } | Decision::Fail { .. }) {
        let value = json!({ "toolCallId": call, "decision": decision.verb(), "by": by });
        Event::Custom { name: "tool_decision", value: &value }.write(out);
    }
}

impl AgUiEncoder {
    pub(super) fn announced(&mut self, id: &CallId, name: &str, out: &mut Vec<u8>) {
        if self.index.contains_key(id) {
            return;
        }
        self.end_messages(out);
        let line = self.line(id, name);
        let is_held = line.is_external && self.is_held(name);
        let is_shown = line.visibility != Visibility::Hidden && !is_held;
        self.add(line);
        if is_shown {
            self.begin_call(self.lines.len() - 1, out);
        }
    }

    pub(super) fn arguments(&mut self, id: &CallId, text: &str, now: Duration, out: &mut Vec<u8>) {
        if let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) {
            line.push(text, now, out);
        }
    }

    /// Completes the arguments of a call.
    pub(super) fn complete(&mut self, id: &CallId, out: &mut Vec<u8>) {
        if let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) {
            line.end(out);
        }
    }

    /// Ends the arguments of all calls of the turn.
    pub(super) fn end_calls(&mut self, out: &mut Vec<u8>) {
        for line in &mut self.lines[self.first..] {
            line.end(out);
        }
    }

    /// Handles a new interrupt of a call: hands the call to the client, if the client executes it.
    pub(super) fn opened(&mut self, call: &Call, interrupt: &Interrupt, out: &mut Vec<u8>) {
        self.complete(&call.id, out);
        if !matches!(interrupt.kind, InterruptKind::External) {
            return;
        }
        let at = match self.index.get(&call.id) {
            Some(at) => *at,
            // In an earlier run the call was held back until its approval.
            None => {
                let line = self.line(&call.id, &call.name);
                self.add(line)
            }
        };
        self.lines[at].is_external = true;
        let text = &call.arguments().text;
        if matches!(self.lines[at].stage, LineStage::Unknown) && self.lines[at].visibility != Visibility::Hidden {
            self.begin_call(at, out);
            let line = &mut self.lines[at];
            line.push(text, Duration::ZERO, out);
            line.end(out);
        }
        self.lines[at].is_announced = true;
        if let Some(report) = self.client_tools.report(call.id.as_str(), &call.name, text) {
            Event::Custom { name: "tool_arguments", value: &report }.write(out);
        }
    }

    /// Handles the end of a call.
    pub(super) fn finished(&mut self, call: &Call, result: &CallResult, out: &mut Vec<u8>) {
        self.complete(&call.id, out);
        let at = self.index.get(&call.id).copied();
        let known = match at {
            Some(at) => {
                let line = &self.lines[at];
                (line.is_unanswered()).then_some(line.visibility)
            }
            // A call of an earlier run, announced then and answered now. The client itself has provided the results of its own
            // calls.
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

    /// Returns a result for the client: the value for the application, or the parts for the model.
    pub(super) fn shown(&self, call: &Call, result: &CallResult) -> Content {
        let json = result
            .output()
            .and_then(tool_runtime::tool::Output::as_json)
            .filter(|json| !json.trim_start().starts_with('"'));
        match json {
            Some(json) => Content::Text(json.to_owned()),
            None => Content::of(&result.for_model(&call.name, call.may_have_run()), self.client_version.has_parts()),
        }
    }

    /// Writes a result.
    pub(super) fn answer(&mut self, id: &CallId, content: &Content, out: &mut Vec<u8>) {
        if let Some(line) = self.index.get(id).and_then(|at| self.lines.get_mut(*at)) {
            line.end(out);
            (line.stage, line.activity) = (LineStage::Answered, None);
        }
        let message_id = self.new_message_id();
        Event::ToolCallResult { message_id: &message_id, tool_call_id: id.as_str(), content }.write(out);
    }

    /// Returns `true` if calls of a client-executed tool are written only when the client has to execute them. Such a tool, if
    /// the server declares it, may need an approval whatever its declaration says, because policies can cover whole toolsets.
    pub(super) fn is_held(&self, name: &str) -> bool {
        self.holds || !self.client_tools.streams(name)
    }

    /// Creates the line of a call that the client does not know yet.
    pub(super) fn line(&self, id: &CallId, name: &str) -> Line {
        let spec = self.tools.get(name).map(|tool| tool.spec());
        Line {
            id: id.clone(),
            name: name.to_owned(),
            visibility: spec.map_or(Visibility::Shown, |spec| self.visible.of(spec)),
            is_external: spec.is_some_and(|spec| spec.options.external),
            is_provided: false,
            is_announced: false,
            activity: None,
            stage: LineStage::Unknown,
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
        Event::ToolCallStart { tool_call_id: line.id.as_str(), tool_call_name: &line.name, parent_message_id: &parent }
            .write(out);
        line.stage = LineStage::Open(Held::at_least(SOME_BYTES));
    }

    pub(super) fn progress(&mut self, progress: &Progress, out: &mut Vec<u8>) {
        let place = self.index.get(progress.call_id.as_str()).copied();
        let line = place.and_then(|place| self.lines.get_mut(place));
        if line.as_ref().is_some_and(|line| line.visibility != Visibility::Shown) {
            return;
        }
        let content = content(progress);
        let id = format!("progress_{}", progress.call_id);
        let (mut snapshot, mut delta) = (Vec::new(), Vec::new());
        Event::ActivitySnapshot { message_id: &id, activity_type: TYPE, content: &content }.write(&mut snapshot);
        if let Some(line) = line {
            let content = Value::Object(content);
            if let Some(before) = &line.activity {
                let patch = serde_json::json!(json_patch::diff(before, &content));
                Event::ActivityDelta { message_id: &id, activity_type: TYPE, patch: &patch }.write(&mut delta);
            }
            line.activity = (snapshot.len() >= SMALL).then_some(content);
        }
        let is_shorter = !delta.is_empty() && snapshot.len() >= SMALL && delta.len() <= snapshot.len() / 2;
        out.extend(if is_shorter { delta } else { snapshot });
    }

    /// Writes a call of a provider's tool, or its result. To the client it looks like any other call.
    pub(super) fn provided(&mut self, part: &ProviderPart, out: &mut Vec<u8>) {
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|_| Value::from(part.block.as_str()));
        if part.call_id.is_empty() {
            let value = json!({ "provider": part.provider, "name": part.name, "block": block });
            return Event::Custom { name: "provider_result", value: &value }.write(out);
        }
        let id = CallId::from(part.call_id.as_str());
        let is_call = part.kind == ProviderPartKind::Call;
        let known = self.index.get(&id).copied();
        if known.is_some_and(|at| is_call || !self.lines[at].is_provided) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_messages(out);
            let mut line = self.line(&id, &part.name);
            (line.is_external, line.is_provided) = (false, true);
            let at = self.add(line);
            if self.lines[at].visibility != Visibility::Hidden {
                let input = if is_call { block.get("input").unwrap_or(&block).to_string() } else { String::new() };
                self.begin_call(at, out);
                self.lines[at].push(&input, Duration::ZERO, out);
                self.complete(&id, out);
            }
            at
        });
        let line = &self.lines[at];
        if is_call || !line.is_unanswered() {
            return;
        }
        let content = match line.visibility {
            Visibility::WithoutResult => String::new(),
            _ => block.get("content").unwrap_or(&block).to_string(),
        };
        self.answer(&id, &Content::Text(content), out);
    }

    /// Writes a steering message that the run has accepted. It is not a message of the client's conversation, so that the client
    /// does not send it back as a new one.
    pub(super) fn steered(&mut self, prompt: &Prompt, out: &mut Vec<u8>) {
        self.end_messages(out);
        let texts: Vec<_> = prompt.content.iter().filter_map(Part::as_text).collect();
        let value = json!({ "id": prompt.id, "text": texts.join("\n") });
        Event::Custom { name: "steering_message", value: &value }.write(out);
    }
}

fn content(progress: &Progress) -> Object {
    let number = |number: f64| serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number);
    let mut content = object([("toolCallId", progress.call_id.as_str().into()), ("done", number(progress.done))]);
    let more = [
        ("total", progress.total.map(number)),
        ("message", progress.message.as_deref().map(Value::from)),
        ("preliminary", progress.preliminary.clone()),
    ];
    content.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    content
}

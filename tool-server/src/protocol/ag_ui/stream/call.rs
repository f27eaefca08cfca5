//! The events of a run's calls, from their announcement to their results.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{AgUiEncoder, MAX_FRAME_TEXT, split_text};
use crate::protocol::ag_ui::Content;
use crate::protocol::ag_ui::event::{Event, Object, object};
use crate::protocol::{Visibility, coalesce::HeldText};
use tool_runtime::agent::PartialArguments;
use tool_runtime::json::IncrementalJson;
use tool_runtime::message::{Part, ProviderPart, ProviderPartKind};
use tool_runtime::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptKind, Principal, Prompt};
use tool_runtime::tool::Progress;

/// The least size of a piece of arguments, in bytes. Each frame repeats the call's id, so small pieces wait for more.
const MIN_PIECE_BYTES: usize = 512;

/// The type of the activities that show progress.
const ACTIVITY_TYPE: &str = "tool_progress";

/// The least size of an activity's frame for which the encoder writes patches, in bytes. A patch of a smaller frame is not
/// shorter.
const MIN_PATCHED_BYTES: usize = 512;

/// The client's view of a call.
#[derive(Debug)]
pub struct StreamedCall {
    pub id: CallId,
    name: String,
    pub visibility: Visibility,
    /// Set if the client executes the call.
    pub is_external: bool,
    /// Set if the model's provider executes the call, so that it is not a call of the run.
    pub is_provided: bool,
    /// Set if the client has to execute the call, or has executed it.
    pub is_announced: bool,
    /// The progress that the client has, if it is long enough for patches.
    pub activity: Option<Value>,
    pub stage: CallStage,
}

/// The stage of a call at the client.
#[derive(Debug)]
pub enum CallStage {
    /// The client does not know the call.
    Unknown,
    /// The call before it is open, so the call waits with the arguments that have arrived. Some clients add all arguments to
    /// the call that began last.
    Queued(String),
    /// The arguments are arriving. At most one call is open.
    Open(HeldText),
    /// The arguments are complete.
    Ended,
    /// The client has the result.
    Done,
}

impl StreamedCall {
    /// Returns whether the client waits for a result that it does not provide itself.
    pub fn awaits_result(&self) -> bool {
        !self.is_announced && matches!(self.stage, CallStage::Open(_) | CallStage::Ended)
    }

    /// Returns whether the client still has to execute the call.
    pub fn is_pending(&self) -> bool {
        self.is_announced && matches!(self.stage, CallStage::Ended)
    }

    /// Returns the time at which arguments that are held back must be sent.
    pub fn due(&self) -> Option<Duration> {
        if let CallStage::Open(held) = &self.stage { held.due() } else { None }
    }

    /// Adds arguments, and writes those that are due.
    pub(super) fn push(&mut self, text: &str, now: Duration, out: &mut Vec<u8>) {
        let held = match &mut self.stage {
            CallStage::Queued(queued) => return queued.push_str(text),
            CallStage::Open(held) => held,
            CallStage::Unknown | CallStage::Ended | CallStage::Done => return,
        };
        // White space alone is not JSON. Without it, the arguments count as missing, and become an empty object.
        let text = if held.is_new() { text.trim_ascii_start() } else { text };
        held.push(text, now, |text| write_argument_deltas(&self.id, text, out));
    }

    /// Writes the arguments that are held back.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        let CallStage::Open(held) = &mut self.stage else { return };
        held.send_rest(|text| write_argument_deltas(&self.id, text, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let CallStage::Open(held) = &self.stage else { return };
        if held.is_new() {
            // Clients of all versions parse the text, and an empty text is not JSON.
            self.push("{}", Duration::ZERO, out);
        }
        self.flush(out);
        Event::ToolCallEnd { tool_call_id: self.id.as_str() }.write(out);
        self.stage = CallStage::Ended;
    }
}

fn write_argument_deltas(id: &CallId, text: &str, out: &mut Vec<u8>) {
    for delta in split_text(text) {
        Event::ToolCallArgs { tool_call_id: id.as_str(), delta }.write(out);
    }
}

/// Writes that the client has to execute a call, in the form that TanStack AI reads. Writes nothing if the arguments are not JSON, or
/// may not fit into a frame.
fn write_input(id: &CallId, name: &str, arguments: &str, out: &mut Vec<u8>) {
    if arguments.len() > MAX_FRAME_TEXT {
        return;
    }
    let arguments = if arguments.trim_ascii().is_empty() { "{}" } else { arguments };
    if let Ok(input) = serde_json::from_str::<Value>(arguments) {
        let value = json!({ "toolCallId": id, "toolName": name, "input": input });
        Event::Custom { name: "tool-input-available", value: &value }.write(out);
    }
}

/// Writes a person's decision, for the other tabs and devices of a client. Writes nothing for results, which a client sends
/// itself.
pub(super) fn write_decision(call: &CallId, decision: &Decision, by: &Principal, out: &mut Vec<u8>) {
    if !matches!(decision, Decision::Respond { .. } | Decision::Fail { .. }) {
        let mut value = json!({ "toolCallId": call, "decision": decision.verb(), "by": by });
        if let Decision::Edit { arguments } = decision {
            value["arguments"] = arguments.clone();
        }
        Event::Custom { name: "tool_decision", value: &value }.write(out);
    }
}

impl AgUiEncoder {
    /// Adds a call, and writes its start unless it is hidden or held back.
    pub(super) fn announce_call(&mut self, id: &CallId, name: &str, out: &mut Vec<u8>) {
        if self.index.contains_key(id) {
            return;
        }
        self.end_messages(out);
        let streamed = self.new_call(id, name);
        let is_held = streamed.is_external && self.is_held(name);
        let is_shown = streamed.visibility != Visibility::Hidden && !is_held;
        self.add(streamed);
        if is_shown {
            self.begin_call(self.calls.len() - 1, out);
        }
    }

    /// Writes a piece of a call's arguments. A call whose arguments are complete JSON ends at once.
    pub(super) fn write_arguments(
        &mut self,
        id: &CallId,
        text: &str,
        so_far: PartialArguments<'_>,
        now: Duration,
        out: &mut Vec<u8>,
    ) {
        let Some(at) = self.index.get(id).copied() else { return };
        self.calls[at].push(text, now, out);
        if self.unended.front() == Some(&at) && so_far.look(IncrementalJson::is_complete) {
            self.end_open_call(out);
        }
    }

    /// Ends the arguments of a call, and before them those of the calls that began earlier.
    pub(super) fn end_arguments(&mut self, id: &CallId, out: &mut Vec<u8>) {
        let Some(at) = self.index.get(id).copied() else { return };
        while self.unended.contains(&at) {
            self.end_open_call(out);
        }
    }

    /// Ends the arguments of all calls.
    pub(super) fn end_all_arguments(&mut self, out: &mut Vec<u8>) {
        while !self.unended.is_empty() {
            self.end_open_call(out);
        }
    }

    /// Ends the open call, and begins those that wait for it, up to one with incomplete arguments.
    fn end_open_call(&mut self, out: &mut Vec<u8>) {
        while let Some(at) = self.unended.pop_front() {
            self.calls[at].end(out);
            let Some(next) = self.unended.front().copied() else { return };
            let CallStage::Queued(text) = std::mem::replace(&mut self.calls[next].stage, CallStage::Unknown) else {
                return;
            };
            self.open_call(next, out);
            self.calls[next].push(&text, Duration::ZERO, out);
            if serde_json::from_str::<IgnoredAny>(&text).is_err() {
                return;
            }
        }
    }

    /// Ends the arguments of a call that waits. If the client executes the call, writes what the client needs for that.
    pub(super) fn write_interrupt(&mut self, call: &Call, interrupt: &Interrupt, out: &mut Vec<u8>) {
        self.end_arguments(&call.id, out);
        let is_of_others = !interrupt.deciders.is_empty() && !interrupt.deciders.contains(&self.by);
        if !matches!(interrupt.kind, InterruptKind::External) || is_of_others {
            return;
        }
        let at = match self.index.get(&call.id) {
            Some(at) => *at,
            // In an earlier response, the call was held back until its approval.
            None => {
                let streamed = self.new_call(&call.id, &call.name);
                self.add(streamed)
            }
        };
        self.calls[at].is_external = true;
        let text = &call.arguments().text;
        if matches!(self.calls[at].stage, CallStage::Unknown) && self.calls[at].visibility != Visibility::Hidden {
            self.begin_call(at, out);
            self.calls[at].push(text, Duration::ZERO, out);
            self.end_arguments(&call.id, out);
        }
        self.calls[at].is_announced = true;
        if self.client_version.needs_input_events() && self.calls[at].visibility != Visibility::Hidden {
            write_input(&call.id, &call.name, text, out);
        }
        if let Some(report) = self.client_tools.report(call.id.as_str(), &call.name, text) {
            Event::Custom { name: "tool_arguments", value: &report }.write(out);
        }
    }

    /// Writes the result of a call that has ended, if the client waits for it.
    pub(super) fn finish_call(&mut self, call: &Call, result: &CallResult, out: &mut Vec<u8>) {
        self.end_arguments(&call.id, out);
        let at = self.index.get(&call.id).copied();
        let known = match at {
            Some(at) => {
                let streamed = &self.calls[at];
                streamed.awaits_result().then_some(streamed.visibility)
            }
            // An earlier response announced the call. The client itself has provided the results of its own calls.
            None => {
                let streamed = self.new_call(&call.id, &call.name);
                let is_ours = !streamed.is_external && !call.tool.as_ref().is_some_and(|tool| tool.external);
                (is_ours && streamed.visibility != Visibility::Hidden).then_some(streamed.visibility)
            }
        };
        let Some(visibility) = known else { return };
        let content = match visibility {
            Visibility::WithoutResult => Content::Text(String::new()),
            _ => self.visible_result(call, result),
        };
        self.write_result(&call.id, &content, out);
    }

    /// Returns a result as content for the client: JSON, also of a rejection, or the parts for the model if the output is a string
    /// or has no JSON.
    pub(super) fn visible_result(&self, call: &Call, result: &CallResult) -> Content {
        if let Some(rejection) = result.rejection() {
            return Content::Text(rejection.to_json_text());
        }
        let json = result
            .output()
            .and_then(tool_runtime::tool::Output::as_json)
            .filter(|json| !json.trim_start().starts_with('"'));
        match json {
            Some(json) => Content::Text(json.to_owned()),
            None => {
                let parts = match result {
                    CallResult::Succeeded { output } => output.for_page(),
                    other => other.for_model(&call.name, call.extent()),
                };
                Content::of(&parts, self.client_version.has_parts())
            }
        }
    }

    pub(super) fn write_result(&mut self, id: &CallId, content: &Content, out: &mut Vec<u8>) {
        self.end_arguments(id, out);
        if let Some(streamed) = self.index.get(id).and_then(|at| self.calls.get_mut(*at)) {
            (streamed.stage, streamed.activity) = (CallStage::Done, None);
        }
        let message_id = self.new_message_id();
        Event::ToolCallResult { message_id: &message_id, tool_call_id: id.as_str(), content }.write(out);
    }

    /// Returns whether the encoder writes calls of a client-executed tool only when the client has to execute them. This holds
    /// for every such tool that the server declares, because policies can require an approval of its calls.
    pub(super) fn is_held(&self, name: &str) -> bool {
        self.holds || !self.client_tools.are_streamed(name)
    }

    /// Creates a call that the client does not know yet.
    pub(super) fn new_call(&self, id: &CallId, name: &str) -> StreamedCall {
        let spec = self.tools.get(name).map(|tool| tool.spec());
        StreamedCall {
            id: id.clone(),
            name: name.to_owned(),
            visibility: spec.map_or(Visibility::Shown, |spec| self.visibility.of(spec)),
            is_external: spec.is_some_and(|spec| spec.options.external),
            is_provided: false,
            is_announced: false,
            activity: None,
            stage: CallStage::Unknown,
        }
    }

    /// Adds a call. Returns its index in `calls`.
    pub(super) fn add(&mut self, streamed: StreamedCall) -> usize {
        let at = self.calls.len();
        self.index.insert(streamed.id.clone(), at);
        self.calls.push(streamed);
        at
    }

    /// Begins a call, or lets it wait for the open one.
    pub(super) fn begin_call(&mut self, at: usize, out: &mut Vec<u8>) {
        self.unended.push_back(at);
        if self.unended.len() == 1 {
            self.open_call(at, out);
        } else {
            self.calls[at].stage = CallStage::Queued(String::new());
        }
    }

    fn open_call(&mut self, at: usize, out: &mut Vec<u8>) {
        let parent = self.parent_message_id();
        let streamed = &mut self.calls[at];
        Event::ToolCallStart {
            tool_call_id: streamed.id.as_str(),
            tool_call_name: &streamed.name,
            parent_message_id: &parent,
        }
        .write(out);
        streamed.stage = CallStage::Open(HeldText::at_least(MIN_PIECE_BYTES));
    }

    pub(super) fn write_progress(&mut self, progress: &Progress, out: &mut Vec<u8>) {
        let place = self.index.get(progress.call_id.as_str()).copied();
        let streamed = place.and_then(|place| self.calls.get_mut(place));
        if streamed.as_ref().is_some_and(|streamed| streamed.visibility != Visibility::Shown) {
            return;
        }
        let content = progress_content(progress);
        let id = format!("progress_{}", progress.call_id);
        let (mut snapshot, mut delta) = (Vec::new(), Vec::new());
        Event::ActivitySnapshot { message_id: &id, activity_type: ACTIVITY_TYPE, content: &content }
            .write(&mut snapshot);
        if let Some(streamed) = streamed {
            let content = Value::Object(content);
            if let Some(before) = &streamed.activity {
                let patch = serde_json::json!(json_patch::diff(before, &content));
                Event::ActivityDelta { message_id: &id, activity_type: ACTIVITY_TYPE, patch: &patch }.write(&mut delta);
            }
            streamed.activity = (snapshot.len() >= MIN_PATCHED_BYTES).then_some(content);
        }
        let is_shorter = !delta.is_empty() && snapshot.len() >= MIN_PATCHED_BYTES && delta.len() <= snapshot.len() / 2;
        out.extend(if is_shorter { delta } else { snapshot });
    }

    /// Writes a call of a provider's tool, or its result. The client sees it as any other call.
    pub(super) fn write_provider_part(&mut self, part: &ProviderPart, out: &mut Vec<u8>) {
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|_| Value::from(part.block.as_str()));
        if part.call_id.is_empty() {
            let value = json!({ "provider": part.provider, "name": part.name, "block": block });
            return Event::Custom { name: "provider_result", value: &value }.write(out);
        }
        let id = CallId::from(part.call_id.as_str());
        let is_call = part.kind == ProviderPartKind::Call;
        let known = self.index.get(&id).copied();
        if known.is_some_and(|at| is_call || !self.calls[at].is_provided) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_messages(out);
            let mut streamed = self.new_call(&id, &part.name);
            (streamed.is_external, streamed.is_provided) = (false, true);
            let at = self.add(streamed);
            if self.calls[at].visibility != Visibility::Hidden {
                let input = if is_call { block.get("input").unwrap_or(&block).to_string() } else { String::new() };
                self.begin_call(at, out);
                self.calls[at].push(&input, Duration::ZERO, out);
                self.end_arguments(&id, out);
            }
            at
        });
        let streamed = &self.calls[at];
        if is_call || !streamed.awaits_result() {
            return;
        }
        let content = match streamed.visibility {
            Visibility::WithoutResult => String::new(),
            _ => block.get("content").unwrap_or(&block).to_string(),
        };
        self.write_result(&id, &Content::Text(content), out);
    }

    /// Writes a steering message that the run has accepted. The event adds no message to the client's conversation, so that the
    /// client does not send it back as a new one.
    pub(super) fn write_steering_message(&mut self, prompt: &Prompt, out: &mut Vec<u8>) {
        self.end_messages(out);
        let texts: Vec<_> = prompt.content.iter().map(Part::in_words).collect();
        let value = json!({ "id": prompt.id, "text": texts.join("\n") });
        Event::Custom { name: "steering_message", value: &value }.write(out);
    }
}

fn progress_content(progress: &Progress) -> Object {
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

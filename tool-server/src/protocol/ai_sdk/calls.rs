//! The states of calls at the client, and the chunks about calls. The encoder does not write a chunk that the client would
//! refuse.

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tool_runtime::message::{Part, ProviderPart, ProviderPartKind, ToolMessage};
use tool_runtime::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptKind, Principal};
use tool_runtime::tool::{Output, Progress, ToolSpec};

use super::{AiSdkEncoder, Chunk, ErrorDetail, Json, SdkVersion, approval_id, stream::Step, write_frame};
use crate::protocol::{Visibility, coalesce::HeldText, waits_for};

/// The text in place of a masked error.
const MASKED: &str = "The tool failed.";

/// The output in place of one that the client does not see.
const CONCEALED: Json<'_> = Json::Text("\"\"");

/// The client's view of a call.
#[derive(Debug)]
pub struct StreamedCall {
    pub id: String,
    pub name: String,
    pub held: HeldText,
    state: State,
    /// Set if the client has the complete arguments.
    is_announced: bool,
    /// The id of the open request for approval that this response contains.
    asked: Option<String>,
    /// Set if a request for approval was sent, in this response or an earlier one.
    was_asked: bool,
    /// Set if the client executes the call.
    pub is_external: bool,
    /// Set if the model's provider executes the call, so that it is not a call of the run.
    pub is_provided: bool,
    /// Set if the client does not see the result.
    is_concealed: bool,
}

/// The state of a call at the client. `Done` is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `input-streaming`.
    Streaming,
    /// `input-available`, or `approval-responded`.
    Available,
    /// `approval-requested`.
    Requested,
    /// `output-available`, `output-error` or `output-denied`.
    Done,
}

impl StreamedCall {
    /// Creates a call whose arguments are arriving.
    pub fn streaming(id: &str, name: &str, is_external: bool) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            held: HeldText::default(),
            state: State::Streaming,
            is_announced: false,
            asked: None,
            was_asked: false,
            is_external,
            is_provided: false,
            is_concealed: false,
        }
    }

    /// Creates a nested call that the client executes.
    pub fn new_client_call(id: &str, name: &str) -> Self {
        Self { state: State::Available, is_announced: true, ..Self::streaming(id, name, true) }
    }

    /// Creates a call that the provider executes.
    pub fn provided(id: &str, name: &str) -> Self {
        Self { state: State::Available, is_announced: true, is_provided: true, ..Self::streaming(id, name, false) }
    }

    /// Creates a call that the client knows from an earlier response. `was_asked` is set if it waits for an approval.
    pub fn known(id: &str, name: &str, is_external: bool, was_asked: bool) -> Self {
        let state = if was_asked { State::Requested } else { State::Available };
        let is_announced = !(is_external && was_asked);
        Self { state, is_announced, was_asked, ..Self::streaming(id, name, is_external) }
    }

    /// Returns whether more arguments may arrive.
    pub fn is_streaming(&self) -> bool {
        self.state == State::Streaming
    }

    /// Marks the complete arguments as announced. Returns `false` if they must not be announced now. They are announced once, and
    /// again after a person has edited them.
    pub fn announce(&mut self, is_edited: bool) -> bool {
        let may = self.state != State::Done && (!self.is_announced || is_edited);
        if may {
            (self.state, self.is_announced, self.asked) = (State::Available, true, None);
        }
        may
    }

    /// Marks the call as waiting for an approval. Returns `false` if a request for approval must not be sent now.
    pub fn request(&mut self, id: &str) -> bool {
        let may = matches!(self.state, State::Streaming | State::Available);
        if may {
            (self.state, self.was_asked) = (State::Requested, true);
            self.asked = Some(id.to_owned());
        }
        may
    }

    /// Marks the call as one that the client has answered too late. If the client's message has the answer, `id` is its request.
    pub fn settle(&mut self, id: Option<&str>) {
        (self.state, self.was_asked, self.asked) = (State::Requested, true, id.map(str::to_owned));
    }

    /// Marks an answer of the client as refused, so that the request can be sent again.
    pub fn reopen(&mut self) {
        if self.state == State::Requested {
            self.state = State::Available;
        }
    }

    /// Marks the request as decided. Returns the id of this response's request, if the client does not know the decision yet.
    pub fn respond(&mut self) -> Option<String> {
        if self.state != State::Requested {
            return None;
        }
        self.state = State::Available;
        self.asked.take()
    }

    /// Returns whether a preliminary output may be sent. While a request is open, the output would replace it.
    pub fn may_preview(&self) -> bool {
        self.state == State::Available
    }

    /// Returns whether the call may end with a denial. That requires an earlier request for approval.
    pub fn may_be_denied(&self) -> bool {
        self.was_asked
    }

    /// Returns whether the call has ended.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Ends the call. Returns whether it was still open.
    pub fn finish(&mut self) -> bool {
        std::mem::replace(&mut self.state, State::Done) != State::Done
    }

    /// Writes the arguments that are held back.
    pub fn flush(&mut self, version: SdkVersion, out: &mut Vec<u8>) {
        let id = self.id.as_str();
        let delta =
            |text: &str| write_frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, version, out);
        self.held.send_rest(delta);
    }
}

impl AiSdkEncoder {
    pub(super) fn write_frame(&self, chunk: &Chunk<'_>, out: &mut Vec<u8>) {
        write_frame(chunk, self.settings.client_version, out);
    }

    /// Returns the index of the call in `calls`, if the client's message contains the call.
    pub(super) fn find(&self, id: &CallId) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id.as_str())
    }

    /// Adds a call to those that the client's message contains.
    pub(super) fn add(&mut self, mut call: StreamedCall) {
        call.is_concealed = self.settings.visibility_of(&call.name) != Visibility::Shown;
        self.calls.push(call);
    }

    /// Writes the beginning of a call.
    pub(super) fn announce_call(&mut self, id: &CallId, name: &str, out: &mut Vec<u8>) {
        self.has_calls = true;
        if self.find(id).is_some() {
            return;
        }
        self.close_text(out);
        self.open_step(out);
        // Models make one call after the other.
        for call in &mut self.calls[self.step_calls..] {
            call.flush(self.settings.client_version, out);
        }
        let spec = self.settings.spec(name);
        let metadata = spec.and_then(|spec| self.metadata(spec));
        let start = Chunk::ToolInputStart {
            tool_call_id: id.as_str(),
            tool_name: name,
            input_encoding: None,
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: metadata.as_ref().map(Json::Value),
            dynamic: None,
            title: spec.and_then(|spec| spec.title.as_deref()),
        };
        self.write_frame(&start, out);
        let is_external = spec.is_some_and(|spec| spec.options.external);
        self.add(StreamedCall::streaming(id.as_str(), name, is_external));
    }

    /// Returns the icon of a tool, and the texts that people see while it works.
    fn metadata(&self, spec: &ToolSpec) -> Option<Value> {
        let ui = spec.options.ui.as_ref().filter(|_| self.settings.tool_metadata)?;
        let all = [("icon", &ui.icon), ("running", &ui.running), ("done", &ui.done), ("tooltip", &ui.tooltip)];
        let given = all.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into())));
        Some(Value::Object(given.collect()))
    }

    /// Writes the accepted arguments, unless the client executes the call. With complete arguments, a client would start to
    /// execute its call.
    pub(super) fn write_accepted_arguments(&mut self, call: &Call, out: &mut Vec<u8>) {
        if let Some(at) = self.find(&call.id).filter(|at| !self.calls[*at].is_external) {
            self.write_complete_arguments(at, call, out);
        }
    }

    /// Writes the complete arguments, if they must be announced now.
    fn write_complete_arguments(&mut self, at: usize, call: &Call, out: &mut Vec<u8>) {
        let is_edited = call.arguments().by.is_some();
        self.calls[at].flush(self.settings.client_version, out);
        if !self.calls[at].announce(is_edited) {
            return;
        }
        let spec = self.settings.spec(&call.name);
        let metadata = spec.and_then(|spec| self.metadata(spec));
        let title = spec.and_then(|spec| spec.title.as_deref());
        let StreamedCall { id, name, .. } = &self.calls[at];
        let input = Json::Text(&call.arguments().text);
        self.write_frame(&input_chunk(id, name, input, title, metadata.as_ref(), None), out);
    }

    pub(super) fn write_interrupt(&mut self, call: &Call, open: &Interrupt, out: &mut Vec<u8>) {
        self.ask(call, open, None, out);
    }

    /// Writes what the client needs to decide about a call. `refusal` states why its last answer was refused.
    fn ask(&mut self, call: &Call, open: &Interrupt, refusal: Option<&str>, out: &mut Vec<u8>) {
        if let Some(deciders) = self.settings.other_deciders(open) {
            let deciders = deciders.to_vec();
            return self.write_waiting(call, open, &deciders, refusal, out);
        }
        if self.settings.is_hidden(&call.name) && self.find(&call.id).is_none() {
            self.reveal_call(call, out);
        }
        let Some(at) = self.find(&call.id) else { return };
        let is_inside = matches!(open.kind, InterruptKind::Inner { .. });
        match &open.innermost().kind {
            InterruptKind::External if is_inside => self.write_client_call(open, out),
            InterruptKind::External => self.write_complete_arguments(at, call, out),
            InterruptKind::Question { question } if question.schema.is_some() => {
                let id = approval_id(&self.run, open);
                let mut data = json!({ "toolCallId": call.id, "approvalId": id, "question": question });
                if let Some(refusal) = refusal {
                    data["refusal"] = refusal.into();
                }
                let (name, data) = ("question", Json::Value(&data));
                self.write_frame(&Chunk::Data { name, id: Some(&id), data, transient: None }, out);
            }
            InterruptKind::Question { question } => {
                self.write_approval_request(at, open, &[refusal, Some(&question.for_people())], out);
            }
            InterruptKind::Approval { .. } => {
                self.write_approval_request(at, open, &[refusal, open.shown.challenge.as_deref()], out);
            }
            InterruptKind::Reconcile => {
                let text = "the call was started, and its outcome is unknown; approve to start it again";
                self.write_approval_request(at, open, &[refusal, Some(text)], out);
            }
            InterruptKind::Inner { .. } => {}
        }
    }

    /// Writes that a call waits for others than the reader: as data, and as a request whose reason says so. The request keeps the call
    /// from looking like one that works. `refusal` states why the reader's answer was refused.
    fn write_waiting(
        &mut self,
        call: &Call,
        open: &Interrupt,
        deciders: &[Principal],
        refusal: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let id = approval_id(&self.run, open);
        let mut data =
            json!({ "toolCallId": call.id, "approvalId": id, "deciders": deciders, "since": open.opened_at });
        if let Some(refusal) = refusal {
            data["refusal"] = refusal.into();
        }
        self.write_frame(
            &Chunk::Data { name: "waiting", id: Some(&id), data: Json::Value(&data), transient: None },
            out,
        );
        let is_inside = matches!(open.kind, InterruptKind::Inner { .. });
        // The page must neither show a form nor execute the call.
        let is_request = match &open.innermost().kind {
            InterruptKind::Question { question } => question.schema.is_none(),
            InterruptKind::External => !is_inside,
            InterruptKind::Approval { .. } | InterruptKind::Reconcile => true,
            InterruptKind::Inner { .. } => false,
        };
        if let Some(at) = self.find(&call.id).filter(|_| is_request) {
            let who = waits_for(deciders);
            self.write_approval_request(at, open, &[refusal, Some(&who), open.shown.challenge.as_deref()], out);
        }
    }

    /// Writes a call of a hidden tool, because a person is asked about it.
    fn reveal_call(&mut self, call: &Call, out: &mut Vec<u8>) {
        self.announce_call(&call.id, &call.name, out);
        self.write_accepted_arguments(call, out);
        self.write_all_arguments(call.id.as_str(), &call.arguments().text, out);
    }

    /// Writes a request for approval, if it may be sent now, with the texts of `reasons`.
    fn write_approval_request(&mut self, at: usize, open: &Interrupt, reasons: &[Option<&str>], out: &mut Vec<u8>) {
        let reasons: Vec<_> = reasons.iter().copied().flatten().collect();
        let (reason, reasons) = (reasons.join("\n"), !reasons.is_empty());
        let (id, version) = (approval_id(&self.run, open), self.settings.client_version);
        self.calls[at].flush(version, out);
        if !self.calls[at].request(&id) {
            return;
        }
        let shown = &open.shown;
        let descriptor = (version >= SdkVersion::V7).then(|| {
            let mut about = json!({ "effect": shown.effect, "lines": shown.lines, "taintedBy": shown.tainted_by, "expires": open.expires_at });
            if let Some(need) = open.innermost().need() {
                about["need"] = json!(need);
            }
            about
        });
        let reason = reasons.then_some(reason.as_str());
        let request = request_chunk(&id, &self.calls[at].id, descriptor.as_ref(), reason, None);
        self.write_frame(&request, out);
    }

    /// Writes a decision about a call, unless the client has sent it itself.
    pub(super) fn write_decision(&mut self, call: &Call, decision: &Decision, by: &Principal, out: &mut Vec<u8>) {
        let Some(at) = self.find(&call.id) else { return };
        let Some(id) = self.calls[at].respond() else { return };
        let (approved, reason) = match decision {
            Decision::Deny { reason } => (false, reason.as_deref()),
            _ => (true, None),
        };
        self.write_approval_response(&id, approved, reason, Some(by), out);
    }

    /// Takes back a decision of the client about a call that ended without one.
    pub(super) fn write_refused_decision(&mut self, id: &CallId, out: &mut Vec<u8>) {
        let asked = self.find(id).and_then(|at| self.calls[at].respond());
        if let Some(asked) = asked {
            self.write_approval_response(&asked, false, Some("the call had ended before"), None, out);
        }
    }

    /// Asks about a call again, because the client's answer was refused.
    pub(super) fn ask_again(&mut self, call: &Call, open: &Interrupt, refusal: &str, out: &mut Vec<u8>) {
        if let Some(at) = self.find(&call.id) {
            self.calls[at].reopen();
        }
        self.ask(call, open, Some(refusal), out);
    }

    /// Writes the last approval or denial of a call, for a client that loads the whole message again. Writes nothing for
    /// clients of version 6: they have no chunk for a decision, and would show the request as open forever.
    pub(super) fn write_last_decision(&mut self, call: &Call, out: &mut Vec<u8>) {
        use Decision::{Approve, ApproveForRun, Deny, Edit};
        let is_approval = |decision: &Decision| matches!(decision, Approve | ApproveForRun | Edit { .. } | Deny { .. });
        let Some(at) = self.find(&call.id).filter(|_| self.settings.client_version >= SdkVersion::V7) else {
            return;
        };
        let Some((decision, by)) = call.decisions().rfind(|(decision, _)| is_approval(decision)) else { return };
        let id = format!("{}-decided", call.id);
        if self.calls[at].request(&id) {
            self.write_frame(&request_chunk(&id, call.id.as_str(), None, None, None), out);
            self.write_decision(call, decision, by, out);
        }
    }

    /// Writes the result of a call that is in the conversation but not in the run, because the run was branched from another.
    pub(super) fn write_branch_result(&mut self, message: &ToolMessage, out: &mut Vec<u8>) {
        let Some(at) = self.find(&message.call_id.as_str().into()) else { return };
        if !self.calls[at].finish() {
            return;
        }
        let texts = || message.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
        match &message.content[..] {
            _ if message.is_error => {
                let text = if self.shows_errors(at) { texts() } else { MASKED.to_owned() };
                self.write_frame(&error_chunk(&message.call_id, &text, None, None), out);
            }
            _ if self.calls[at].is_concealed => {
                self.write_frame(&output_chunk(&message.call_id, CONCEALED, None, None), out);
            }
            [Part::Json { json }] => {
                self.write_frame(&output_chunk(&message.call_id, Json::Text(json), None, None), out);
            }
            [Part::Text { text }] => {
                let text = Value::from(text.as_str());
                self.write_frame(&output_chunk(&message.call_id, Json::Value(&text), None, None), out);
            }
            parts => {
                let parts = serde_json::to_value(parts).unwrap_or_default();
                self.write_frame(&output_chunk(&message.call_id, Json::Value(&parts), None, None), out);
            }
        }
    }

    fn write_approval_response(
        &self,
        approval_id: &str,
        approved: bool,
        reason: Option<&str>,
        by: Option<&Principal>,
        out: &mut Vec<u8>,
    ) {
        let by = by.map(|by| json!({ "tool": { "decidedBy": by } }));
        let (provider_executed, provider_metadata) = (None, by.as_ref().map(Json::Value));
        let response =
            Chunk::ToolApprovalResponse { approval_id, approved, reason, provider_executed, provider_metadata };
        self.write_frame(&response, out);
    }

    /// Writes the progress of a call: a preliminary output, or numbers and a message.
    pub(super) fn write_progress(&mut self, progress: &Progress, out: &mut Vec<u8>) {
        let known = self.calls.iter().rfind(|call| call.id == progress.call_id);
        let Some(call) = known.filter(|call| call.may_preview() && !call.is_concealed) else { return };
        match &progress.preliminary {
            Some(output) => self.write_frame(&output_chunk(&call.id, Json::Value(output), Some(true), None), out),
            None => {
                let Progress { done, total, message, .. } = progress;
                let mut data = json!({ "toolCallId": call.id, "done": done });
                data.as_object_mut().into_iter().for_each(|data| {
                    data.extend(total.map(|total| ("total".to_owned(), total.into())));
                    data.extend(message.as_ref().map(|message| ("message".to_owned(), message.clone().into())));
                });
                let (name, data) = ("progress", Json::Value(&data));
                self.write_frame(&Chunk::Data { name, id: Some(&call.id), data, transient: Some(true) }, out);
            }
        }
    }

    /// Writes the result of a call that has ended.
    pub(super) fn finish_call(&mut self, call: &Call, result: &CallResult, out: &mut Vec<u8>) {
        let Some(at) = self.find(&call.id) else { return };
        self.calls[at].flush(self.settings.client_version, out);
        if let CallResult::PolicyDenied { reason } = result
            && !call.may_have_run()
            && !self.has_client_call_beside(at)
            && self.write_policy_denial(at, call, reason.as_deref(), out)
        {
            return;
        }
        let was_streaming = self.calls[at].is_streaming();
        let is_denial = matches!(result, CallResult::Denied { .. })
            && self.calls[at].may_be_denied()
            && !self.has_client_call_beside(at);
        if !self.calls[at].finish() {
            return;
        }
        let id = self.calls[at].id.as_str();
        match result {
            _ if is_denial => self.write_frame(&Chunk::ToolOutputDenied { tool_call_id: id }, out),
            CallResult::Succeeded { .. } | CallResult::Responded { .. } if self.calls[at].is_concealed => {
                self.write_frame(&output_chunk(id, CONCEALED, None, None), out);
            }
            CallResult::Succeeded { output } | CallResult::Responded { output, .. } => {
                write_output(output, |output| self.write_frame(&output_chunk(id, output, None, None), out));
            }
            _ if was_streaming => {
                let is_concealed = self.calls[at].is_concealed;
                let text = if is_concealed { MASKED.to_owned() } else { result.for_people(&call.name, call.extent()) };
                let feedback = self.settings.feedback(result).filter(|_| !is_concealed);
                self.write_input_error(at, Some(&call.arguments().text), &text, feedback.as_ref(), out);
            }
            _ => {
                let (text, feedback) = if self.shows_errors(at) {
                    (result.for_people(&call.name, call.extent()), self.settings.feedback(result))
                } else {
                    (MASKED.to_owned(), None)
                };
                self.write_frame(&error_chunk(id, &text, feedback.as_ref(), None), out);
            }
        }
    }

    /// Returns whether the client executes another call of the call's turn. After its output, `useChat` sends again only if each
    /// call of the step has an output or an error, so a denial is written as an error then.
    fn has_client_call_beside(&self, at: usize) -> bool {
        let from = self.step_calls.min(at);
        self.calls[from..].iter().enumerate().any(|(other, call)| from + other != at && call.is_external)
    }

    /// Returns whether the client sees the error of a call.
    fn shows_errors(&self, at: usize) -> bool {
        self.settings.tool_errors == ErrorDetail::Full && !self.calls[at].is_concealed
    }

    /// Writes a policy's denial as a request with an automatic answer. Returns `false` if the client would refuse these chunks.
    fn write_policy_denial(&mut self, at: usize, call: &Call, reason: Option<&str>, out: &mut Vec<u8>) -> bool {
        if self.calls[at].is_done() || self.calls[at].may_be_denied() {
            return false;
        }
        if !self.calls[at].is_external {
            self.write_complete_arguments(at, call, out);
        }
        let id = format!("{}-policy", call.id);
        if !self.calls[at].request(&id) {
            return false;
        }
        let request = request_chunk(&id, &self.calls[at].id, None, None, Some(true));
        self.write_frame(&request, out);
        self.write_approval_response(&id, false, reason, None, out);
        self.calls[at].finish();
        self.write_frame(&Chunk::ToolOutputDenied { tool_call_id: &self.calls[at].id }, out);
        true
    }

    fn write_input_error(
        &self,
        at: usize,
        arguments: Option<&str>,
        error_text: &str,
        feedback: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let text = arguments.unwrap_or("null");
        let written = serde_json::from_str::<IgnoredAny>(text).is_err().then(|| Value::from(text));
        let call = &self.calls[at];
        let error = Chunk::ToolInputError {
            tool_call_id: &call.id,
            tool_name: &call.name,
            input: written.as_ref().map_or(Json::Text(text), Json::Value),
            error_text,
            provider_executed: None,
            provider_metadata: feedback.map(Json::Value),
            tool_metadata: None,
            dynamic: None,
            title: None,
        };
        self.write_frame(&error, out);
    }

    /// Ends the calls with incomplete arguments, from index `first` on.
    pub(super) fn end_incomplete_calls(&mut self, first: usize, error_text: &str, out: &mut Vec<u8>) {
        for at in first..self.calls.len() {
            if self.calls[at].is_streaming() && self.calls[at].finish() {
                self.write_input_error(at, None, error_text, None, out);
            }
        }
    }

    /// Writes a nested call that the client has to execute, with the id of its interrupt and in a step of its own. A client
    /// sends the next request only when all calls of the last step have ended, and the outer call has not ended.
    fn write_client_call(&mut self, open: &Interrupt, out: &mut Vec<u8>) {
        let id = approval_id(&self.run, open);
        if self.find(&CallId::from(id.as_str())).is_some() {
            return;
        }
        self.finish_step(out);
        self.step = Step::Due;
        self.open_step(out);
        let shown = &open.innermost().shown;
        let input = Json::Value(&shown.arguments);
        self.write_frame(&input_chunk(&id, &shown.tool, input, shown.title.as_deref(), None, None), out);
        self.has_calls = true;
        self.add(StreamedCall::new_client_call(&id, &shown.tool));
    }

    /// Writes the client's result of the nested call `id`, so that the client's other tabs do not execute the call again.
    pub fn write_client_result(&mut self, id: &str, decision: &Decision, out: &mut Vec<u8>) {
        let Some(at) = self.find(&CallId::from(id)) else { return };
        if !self.calls[at].finish() {
            return;
        }
        match decision {
            Decision::Respond { output } => self.write_frame(&output_chunk(id, Json::Value(output), None, None), out),
            Decision::Fail { error } => self.write_frame(&error_chunk(id, error, None, None), out),
            _ => self.write_frame(&error_chunk(id, "it was not executed", None, None), out),
        }
    }

    /// Writes a call of a provider's tool, or its result.
    pub(super) fn write_provider_part(&mut self, part: &ProviderPart, out: &mut Vec<u8>) {
        if self.settings.is_hidden(&part.name) {
            return;
        }
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|_| Value::from(part.block.as_str()));
        self.open_step(out);
        if part.call_id.is_empty() {
            // For results without a call, messages only have parts for web pages.
            return self.write_source(&block, out);
        }
        let id = CallId::from(part.call_id.as_str());
        let is_call = part.kind == ProviderPartKind::Call;
        let known = self.find(&id);
        if known.is_some_and(|at| !self.calls[at].is_provided || is_call) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            let empty = Value::Object(serde_json::Map::new());
            let input = if is_call { block.get("input").unwrap_or(&block) } else { &empty };
            self.write_provider_call(part, input, out)
        });
        if is_call || !self.calls[at].finish() {
            return;
        }
        let id = &self.calls[at].id;
        let content = block.get("content").unwrap_or(&block);
        if self.calls[at].is_concealed {
            return self.write_frame(&output_chunk(id, CONCEALED, None, Some(true)), out);
        }
        if part.kind == ProviderPartKind::Failure {
            let code = content.get("error_code").or_else(|| content.get("message")).and_then(Value::as_str);
            let text = code.unwrap_or("the tool of the provider failed");
            return self.write_frame(&error_chunk(id, text, None, Some(true)), out);
        }
        self.write_frame(&output_chunk(id, Json::Value(content), None, Some(true)), out);
    }

    /// Writes a provider's call. Returns its index in `calls`.
    fn write_provider_call(&mut self, part: &ProviderPart, input: &Value, out: &mut Vec<u8>) -> usize {
        self.close_text(out);
        self.write_frame(&input_chunk(&part.call_id, &part.name, Json::Value(input), None, None, Some(true)), out);
        self.add(StreamedCall::provided(&part.call_id, &part.name));
        self.calls.len() - 1
    }

    /// Writes a source for a web page that the provider found.
    fn write_source(&mut self, block: &Value, out: &mut Vec<u8>) {
        let page = block.get("url_citation").unwrap_or(block);
        let text = |key: &str| page.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(url) = text("url") {
            // The URL is the id, so that a page that is cited repeatedly is one source.
            self.write_frame(
                &Chunk::SourceUrl { source_id: url, url, title: text("title"), provider_metadata: None },
                out,
            );
        }
    }
}

/// Passes the output for a client to `write`: the value for the application, or the parts for the model.
fn write_output(output: &Output, write: impl FnOnce(Json<'_>)) {
    match output.as_json() {
        Some(json) => write(Json::Text(json)),
        None => {
            let parts = serde_json::to_value(output.for_model()).unwrap_or_default();
            write(Json::Value(&parts));
        }
    }
}

fn request_chunk<'a>(
    approval_id: &'a str,
    tool_call_id: &'a str,
    descriptor: Option<&'a Value>,
    reason: Option<&'a str>,
    is_automatic: Option<bool>,
) -> Chunk<'a> {
    let approval_descriptor = descriptor.map(Json::Value);
    let (input_schema_input, signature) = (None, None);
    Chunk::ToolApprovalRequest {
        approval_id,
        tool_call_id,
        approval_descriptor,
        input_schema_input,
        reason,
        is_automatic,
        signature,
    }
}

/// Returns the chunk of a call's arguments. `by_provider` is set if the model's provider executes the tool.
fn input_chunk<'a>(
    tool_call_id: &'a str,
    tool_name: &'a str,
    input: Json<'a>,
    title: Option<&'a str>,
    metadata: Option<&'a Value>,
    by_provider: Option<bool>,
) -> Chunk<'a> {
    Chunk::ToolInputAvailable {
        tool_call_id,
        tool_name,
        input,
        provider_executed: by_provider,
        provider_metadata: None,
        tool_metadata: metadata.map(Json::Value),
        dynamic: by_provider,
        title,
    }
}

fn output_chunk<'a>(
    tool_call_id: &'a str,
    output: Json<'a>,
    preliminary: Option<bool>,
    by_provider: Option<bool>,
) -> Chunk<'a> {
    Chunk::ToolOutputAvailable {
        tool_call_id,
        output,
        provider_executed: by_provider,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: by_provider,
        preliminary,
    }
}

fn error_chunk<'a>(
    tool_call_id: &'a str,
    error_text: &'a str,
    feedback: Option<&'a Value>,
    by_provider: Option<bool>,
) -> Chunk<'a> {
    Chunk::ToolOutputError {
        tool_call_id,
        error_text,
        provider_executed: by_provider,
        provider_metadata: feedback.map(Json::Value),
        tool_metadata: None,
        dynamic: by_provider,
    }
}

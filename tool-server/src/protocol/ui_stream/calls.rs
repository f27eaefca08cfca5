//! What is said of calls.

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{Chunk, Errors, Json, Level, UiStream, approval_id, call::Call, frame};
use tool_runtime::run::{self, CallId, CallResult, Decision, Obligation, ObligationKind};
use tool_runtime::tool::{Output, Progress};

/// What a client is told of an error that it is not told.
const MASKED: &str = "The tool failed.";

impl Call {
    /// Sends what is held back of the arguments.
    pub(super) fn flush(&mut self, level: Level, out: &mut Vec<u8>) {
        let id = self.id.as_str();
        let delta = |text: &str| frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, level, out);
        self.held.take(delta);
    }
}

impl UiStream {
    /// The model begins a call.
    pub(super) fn announced(&mut self, id: &CallId, name: &str, out: &mut Vec<u8>) {
        if self.settings.is_hidden(name) || self.find(id).is_some() {
            return;
        }
        self.close_text(out);
        self.open_step(out);
        let spec = self.settings.spec(name);
        let metadata = self.metadata(name);
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
        self.frame(&start, out);
        let is_external = spec.is_some_and(|spec| spec.traits.external);
        self.calls.push(Call::streaming(id.as_str(), name, is_external));
    }

    /// What people see while the tool works.
    fn metadata(&self, name: &str) -> Option<Value> {
        let ui = self.settings.spec(name)?.traits.ui.as_ref().filter(|_| self.settings.tool_metadata)?;
        let all = [("icon", &ui.icon), ("running", &ui.running), ("done", &ui.done), ("tooltip", &ui.tooltip)];
        let given = all.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into())));
        Some(Value::Object(given.collect()))
    }

    /// A call's arguments were accepted. What the client executes is announced when it may.
    pub(super) fn accepted(&mut self, call: &run::Call, out: &mut Vec<u8>) {
        if let Some(at) = self.find(&call.id).filter(|at| !self.calls[*at].is_external) {
            self.available(at, call, out);
        }
    }

    fn available(&mut self, at: usize, call: &run::Call, out: &mut Vec<u8>) {
        let is_edited = call.arguments().by.is_some();
        self.calls[at].flush(self.settings.level, out);
        if !self.calls[at].announce(is_edited) {
            return;
        }
        let metadata = self.metadata(&call.name);
        let available = Chunk::ToolInputAvailable {
            tool_call_id: &self.calls[at].id,
            tool_name: &self.calls[at].name,
            input: Json::Text(&call.arguments().text),
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: metadata.as_ref().map(Json::Value),
            dynamic: None,
            title: self.settings.spec(&call.name).and_then(|spec| spec.title.as_deref()),
        };
        self.frame(&available, out);
    }

    /// A call waits for somebody.
    pub(super) fn opened(&mut self, call: &run::Call, open: &Obligation, out: &mut Vec<u8>) {
        let Some(at) = self.find(&call.id) else { return };
        let is_inside = matches!(open.kind, ObligationKind::Inner { .. });
        match &open.innermost().kind {
            ObligationKind::External if is_inside => self.handed_out(open, out),
            ObligationKind::External => self.available(at, call, out),
            ObligationKind::Answer { question } if question.schema.is_some() => {
                let id = approval_id(&self.run, open);
                let data = json!({ "toolCallId": call.id, "approvalId": id, "question": question });
                let (name, data) = ("question", Json::Value(&data));
                self.frame(&Chunk::Data { name, id: Some(&id), data, transient: None }, out);
            }
            ObligationKind::Answer { question } => {
                let text = question.text.clone();
                self.request(at, open, Some(&text), out);
            }
            ObligationKind::Approval { .. } => self.request(at, open, open.shown.challenge.as_deref(), out),
            ObligationKind::Reconcile => {
                let text = "it was started, and nobody knows what came of it; approve to start it again";
                self.request(at, open, Some(text), out);
            }
            ObligationKind::Inner { .. } => {}
        }
    }

    fn request(&mut self, at: usize, open: &Obligation, reason: Option<&str>, out: &mut Vec<u8>) {
        let (id, level) = (approval_id(&self.run, open), self.settings.level);
        self.calls[at].flush(level, out);
        if !self.calls[at].request(&id) {
            return;
        }
        let shown = &open.shown;
        let descriptor = (level >= Level::V7).then(|| {
            json!({ "effect": shown.effect, "lines": shown.lines, "taintedBy": shown.tainted_by, "expires": open.expires })
        });
        let request = Chunk::ToolApprovalRequest {
            approval_id: &id,
            tool_call_id: &self.calls[at].id,
            approval_descriptor: descriptor.as_ref().map(Json::Value),
            input_schema_input: None,
            reason,
            is_automatic: None,
            signature: None,
        };
        self.frame(&request, out);
    }

    /// Somebody decided about a call. A client that did so itself knows.
    pub(super) fn decided(&mut self, call: &run::Call, decision: &Decision, out: &mut Vec<u8>) {
        let Some(at) = self.find(&call.id) else { return };
        let Some(id) = self.calls[at].respond() else { return };
        let (approved, reason) = match decision {
            Decision::Deny { reason } => (false, reason.as_deref()),
            _ => (true, None),
        };
        self.respond(&id, approved, reason, out);
    }

    fn respond(&self, approval_id: &str, approved: bool, reason: Option<&str>, out: &mut Vec<u8>) {
        let (provider_executed, provider_metadata) = (None, None);
        let response =
            Chunk::ToolApprovalResponse { approval_id, approved, reason, provider_executed, provider_metadata };
        self.frame(&response, out);
    }

    /// A running call reports: an output so far, or how far it is.
    pub(super) fn progress(&mut self, progress: &Progress, out: &mut Vec<u8>) {
        let known = self.calls.iter().rfind(|call| call.id == progress.call_id);
        let Some(call) = known.filter(|call| call.may_preview()) else { return };
        match &progress.preliminary {
            Some(output) => self.frame(&output_chunk(&call.id, Json::Value(output), Some(true)), out),
            None => {
                let Progress { done, total, message, .. } = progress;
                let mut data = json!({ "toolCallId": call.id, "done": done });
                data.as_object_mut().into_iter().for_each(|data| {
                    data.extend(total.map(|total| ("total".to_owned(), total.into())));
                    data.extend(message.as_ref().map(|message| ("message".to_owned(), message.clone().into())));
                });
                let (name, data) = ("progress", Json::Value(&data));
                self.frame(&Chunk::Data { name, id: Some(&call.id), data, transient: Some(true) }, out);
            }
        }
    }

    /// A call ended.
    pub(super) fn finished(&mut self, call: &run::Call, result: &CallResult, out: &mut Vec<u8>) {
        let Some(at) = self.find(&call.id) else { return };
        self.calls[at].flush(self.settings.level, out);
        if let CallResult::PolicyDenied { reason } = result
            && !call.may_have_run()
            && self.denied_by_policy(at, call, reason.as_deref(), out)
        {
            return;
        }
        let was_streaming = self.calls[at].is_streaming();
        let is_denial = matches!(result, CallResult::Denied { .. }) && self.calls[at].may_be_denied();
        if !self.calls[at].finish() {
            return;
        }
        let id = self.calls[at].id.as_str();
        match result {
            _ if is_denial => self.frame(&Chunk::ToolOutputDenied { tool_call_id: id }, out),
            CallResult::Succeeded { output } | CallResult::Responded { output, .. } => {
                write_output(output, |output| self.frame(&output_chunk(id, output, None), out));
            }
            _ if was_streaming => {
                let text = result.for_people(&call.name, call.may_have_run());
                self.input_error(at, Some(&call.arguments().text), &text, self.settings.feedback(result).as_ref(), out);
            }
            _ => {
                let told = || result.for_people(&call.name, call.may_have_run());
                let text = if self.settings.tool_errors == Errors::Told { told() } else { MASKED.to_owned() };
                let feedback = self.settings.feedback(result);
                let error = Chunk::ToolOutputError {
                    tool_call_id: id,
                    error_text: &text,
                    provider_executed: None,
                    provider_metadata: feedback.as_ref().map(Json::Value),
                    tool_metadata: None,
                    dynamic: None,
                };
                self.frame(&error, out);
            }
        }
    }

    /// A policy's denial is told as a request that was answered by itself.
    fn denied_by_policy(&mut self, at: usize, call: &run::Call, reason: Option<&str>, out: &mut Vec<u8>) -> bool {
        if self.calls[at].is_done() || self.calls[at].may_be_denied() {
            return false;
        }
        if !self.calls[at].is_external {
            self.available(at, call, out);
        }
        let id = format!("{}-policy", call.id);
        if !self.calls[at].request(&id) {
            return false;
        }
        let request = Chunk::ToolApprovalRequest {
            approval_id: &id,
            tool_call_id: &self.calls[at].id,
            approval_descriptor: None,
            input_schema_input: None,
            reason: None,
            is_automatic: Some(true),
            signature: None,
        };
        self.frame(&request, out);
        self.respond(&id, false, reason, out);
        self.calls[at].finish();
        self.frame(&Chunk::ToolOutputDenied { tool_call_id: &self.calls[at].id }, out);
        true
    }

    fn input_error(
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
        self.frame(&error, out);
    }

    /// Ends the calls whose arguments never became complete.
    pub(super) fn give_up(&mut self, error_text: &str, out: &mut Vec<u8>) {
        self.give_up_from(0, error_text, out);
    }

    /// The same for those from `first` on.
    pub(super) fn give_up_from(&mut self, first: usize, error_text: &str, out: &mut Vec<u8>) {
        for at in first..self.calls.len() {
            if self.calls[at].is_streaming() && self.calls[at].finish() {
                self.input_error(at, None, error_text, None, out);
            }
        }
    }
}

/// The output as a client gets it: the application's value, or what the model sees of it.
pub(super) fn write_output(output: &Output, write: impl FnOnce(Json<'_>)) {
    match output.as_json() {
        Some(json) => write(Json::Text(json)),
        None => {
            let parts = serde_json::to_value(output.for_model()).unwrap_or_default();
            write(Json::Value(&parts));
        }
    }
}

pub(super) fn output_chunk<'a>(tool_call_id: &'a str, output: Json<'a>, preliminary: Option<bool>) -> Chunk<'a> {
    Chunk::ToolOutputAvailable {
        tool_call_id,
        output,
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        preliminary,
    }
}

//! How an answer ends.

use super::{Chunk, Errors, Finish, Json, UiStream, sealed_metadata};
use tool_runtime::agent::AgentError;
use tool_runtime::message::FinishReason;
use tool_runtime::run::{Phase, StopReason};

impl UiStream {
    /// The run rests, or waits for somebody.
    pub(super) fn finish(&mut self, phase: Option<&Phase>, sealed: Option<&str>, out: &mut Vec<u8>) {
        // A client that sends by itself would send for ever if the last step that it keeps had calls that have all ended.
        let is_closed = self.has_calls && !matches!(phase, Some(Phase::Suspended));
        self.finish_step(out);
        if is_closed {
            self.start_step(out);
            self.say_nothing(out);
            self.finish_step(out);
        }
        let reason = match phase {
            Some(Phase::Suspended | Phase::Stopped(StopReason::StepLimit)) => Finish::ToolCalls,
            Some(Phase::Stopped(StopReason::Cut(FinishReason::Length))) => Finish::Length,
            Some(Phase::Stopped(StopReason::Cut(FinishReason::ContentFilter))) => Finish::ContentFilter,
            Some(Phase::Finished) => Finish::Stop,
            None => Finish::Interrupted,
            _ => Finish::Other,
        };
        let metadata = sealed.map(sealed_metadata);
        let message_metadata = metadata.as_ref().map(Json::Value);
        self.frame(&Chunk::Finish { finish_reason: Some(reason), message_metadata }, out);
    }

    /// The run could not go on.
    pub(super) fn fail(&mut self, failure: &AgentError, sealed: Option<&str>, out: &mut Vec<u8>) {
        self.close_text(out);
        if let Some(sealed) = sealed {
            let metadata = sealed_metadata(sealed);
            self.frame(&Chunk::MessageMetadata { message_metadata: Json::Value(&metadata) }, out);
        }
        if matches!(failure, AgentError::Cancelled) {
            return self.frame(&Chunk::Abort { reason: None }, out);
        }
        let text = match self.settings.failures {
            Errors::Masked => "The answer failed. Try again.".to_owned(),
            Errors::Told => format!("The answer failed: {failure}"),
        };
        self.frame(&Chunk::Error { error_text: &text }, out);
    }
}

//! The sizes of inputs, for stores that limit them.

use serde::Serialize;

use super::Log;
use crate::run::{Refusal, Run};
use crate::tool::{CallError, Failure};
use tool_run::run::StepInput;

impl Log {
    /// Returns an input that the store takes, in place of one that is too large.
    pub(super) fn within_size(&self, input: StepInput) -> Result<StepInput, Refusal> {
        match self.storage.max_input() {
            Some(max) => within_size(input, max, &self.run),
            None => Ok(input),
        }
    }
}

/// Returns an input that the store takes: `input`, or the failure of a call or a turn that has more than `max` bytes.
///
/// Fails if the input is a prompt, a question or a recorded step that is too large.
fn within_size(input: StepInput, max: usize, run: &Run) -> Result<StepInput, Refusal> {
    let excess = |what: &str, bytes: usize| (bytes > max).then(|| too_large(what, bytes, max));
    Ok(match input {
        StepInput::Ended { call, attempt, outcome, at } => {
            let bytes = match &outcome {
                Ok(output) => json_len(output),
                Err(error) => json_len(&error.for_model()),
            };
            let name = || run.call(&call).map_or_else(String::new, |call| call.name.clone());
            let outcome = match excess("its result has", bytes) {
                Some(text) => Err(CallError::Failed(Failure::new(format!("`{}` ran, but {text}; it is lost", name())))),
                None => outcome,
            };
            StepInput::Ended { call, attempt, outcome, at }
        }
        StepInput::TurnEnded { parts, finish, usage, model, at } => {
            match excess("the model's turn has", json_len(&parts)) {
                Some(error) => StepInput::TurnFailed { error, again: false, usage, model, at },
                None => StepInput::TurnEnded { parts, finish, usage, model, at },
            }
        }
        input => {
            let excess = match &input {
                StepInput::Prompt(prompt) => excess("the prompt has", json_len(&prompt.content)),
                StepInput::DurableStepEnded { value, .. } => excess("the recorded step has", json_len(value)),
                StepInput::Asked { question, .. } => excess("the question has", json_len(question)),
                StepInput::AskedInside { interrupt, .. } => excess("the question has", json_len(interrupt)),
                _ => None,
            };
            match excess {
                Some(limit) => return Err(Refusal::LimitReached { limit }),
                None => input,
            }
        }
    })
}

/// Returns the length of the JSON of `value`, in bytes.
fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}

#[allow(clippy::cast_precision_loss, reason = "the text has one decimal")]
fn too_large(what: &str, bytes: usize, max: usize) -> String {
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    format!("{what} {:.1} MB, and the store takes at most {:.1} MB", megabytes(bytes), megabytes(max))
}

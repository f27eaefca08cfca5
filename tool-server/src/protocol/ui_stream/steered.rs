//! What becomes of an answer under way: a person says something to it, or a turn of it comes to nothing.

use serde_json::{Value, json};

use super::{Chunk, Json, Level, UiStream, steps::Step};
use tool_runtime::message::Part;

impl UiStream {
    /// The run took up something that was said while it went on.
    pub(super) fn steered(&mut self, id: Option<&str>, content: &[Part], out: &mut Vec<u8>) {
        self.finish_step(out);
        self.steerings += 1;
        let minted = format!("{}-said-{}", self.message_id, self.steerings);
        let parts: Value = content.iter().map(part).collect();
        let id = id.unwrap_or(&minted);
        self.frame(&Chunk::SteeringMessage { id, parts: Json::Value(&parts) }, out);
    }

    /// A turn came to nothing, and another is tried: what was said in it is void, and clients that can forget it do.
    pub(super) fn failed_step(&mut self, again: bool, out: &mut Vec<u8>) {
        if !again || self.step != Step::Open {
            return;
        }
        let from = self.step_calls.min(self.calls.len());
        // A call that was accepted goes on whatever became of the turn: its part must stay.
        let has_kept = self.calls[from..].iter().any(|call| !call.is_streaming() && !call.is_provided);
        if self.settings.level >= Level::V7 && !has_kept {
            self.calls.truncate(from);
            self.forget_step(out);
        } else {
            self.give_up_from(from, "the model's turn broke off", out);
            self.finish_step(out);
        }
    }
}

/// A part of a person's message.
fn part(part: &Part) -> Value {
    match part {
        Part::Image { media_type, data } => {
            json!({ "type": "file", "mediaType": media_type, "url": format!("data:{media_type};base64,{data}") })
        }
        Part::Json { json } => json!({ "type": "text", "text": json }),
        part => json!({ "type": "text", "text": part.as_text().unwrap_or_default() }),
    }
}

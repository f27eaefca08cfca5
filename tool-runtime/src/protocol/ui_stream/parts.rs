//! The parts of a message that mean something.

use serde_json::{Map, Value, json};

use super::{Claim, Claimed};
use crate::message::Part;

/// A text as a part.
pub(super) fn from_text(text: &Value) -> Value {
    json!({ "type": "text", "text": text })
}

/// What a user said with a part: text, or an image that is all there.
pub(super) fn said(part: &Map<String, Value>) -> Option<Part> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => text("text").map(Part::text),
        "file" => {
            let (media_type, data) = text("url")?.strip_prefix("data:")?.split_once(";base64,")?;
            let is_image = media_type.starts_with("image/");
            is_image.then(|| Part::Image { media_type: media_type.to_owned(), data: data.to_owned() })
        }
        _ => None,
    }
}

/// What a part of the assistant's says about a call. Its texts go into `content`.
pub(super) fn claim(mut part: Map<String, Value>, is_last: bool, content: &mut Vec<Part>) -> Option<Claim> {
    let kind = part.get("type")?.as_str()?;
    if kind == "text" {
        content.extend(said(&part));
        return None;
    }
    if !kind.starts_with("tool-") && kind != "dynamic-tool" {
        return None;
    }
    let call = part.get("toolCallId")?.as_str()?.to_owned();
    let claimed = match part.get("state")?.as_str()? {
        "approval-responded" => {
            let approval = part.get("approval")?;
            Claimed::Answered {
                approval: approval.get("id")?.as_str()?.to_owned(),
                approved: approval.get("approved")?.as_bool()?,
                reason: approval.get("reason").and_then(Value::as_str).map(str::to_owned),
            }
        }
        "output-available" if part.get("preliminary") != Some(&Value::Bool(true)) => {
            // A client that says it has an output, and not which, has none that JSON can carry.
            Claimed::Output(part.remove("output").unwrap_or_default())
        }
        "output-error" => Claimed::Failed(part.get("errorText").and_then(Value::as_str).unwrap_or_default().to_owned()),
        _ => return None,
    };
    Some(Claim { call, input: part.remove("input"), written: None, claimed, is_last })
}

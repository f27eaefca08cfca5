//! The parts of a message that mean something.

use serde_json::Value;

use super::{Claim, Claimed};
use crate::protocol::members::{self, Members};
use tool_runtime::message::Part;

/// What the model is told of an output that cannot be read.
const UNREADABLE: &str = "the application's output is nested more than 127 levels deep and cannot be read";

/// What a user said with a part: text, or an image that is all there.
pub(super) fn said(part: &Members<'_>) -> Option<Part> {
    match part.text("type")?.as_str() {
        "text" => part.text("text").map(Part::text),
        "file" => {
            let url = part.text("url")?;
            let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            let is_image = media_type.starts_with("image/");
            is_image.then(|| Part::Image { media_type: media_type.to_owned(), data: data.to_owned() })
        }
        _ => None,
    }
}

/// What a part of the assistant's says about a call. Its texts go into `content`.
pub(super) fn claim(part: &Members<'_>, is_last: bool, content: &mut Vec<Part>) -> Option<Claim> {
    let kind = part.text("type")?;
    if kind == "text" {
        content.extend(said(part));
        return None;
    }
    if !kind.starts_with("tool-") && kind != "dynamic-tool" {
        return None;
    }
    let call = part.text("toolCallId")?;
    let claimed = match part.text("state")?.as_str() {
        "approval-responded" => {
            let approval = part.object("approval")?;
            Claimed::Answered {
                approval: approval.text("id")?,
                approved: approval.value("approved")?,
                reason: approval.text("reason"),
            }
        }
        "output-available" if part.value("preliminary") != Some(true) => match part.raw("output") {
            // A client that says it has an output, and not which, has none that JSON can carry.
            None => Claimed::Output(Value::Null),
            Some(output) => {
                members::value(output).map_or_else(|| Claimed::Failed(UNREADABLE.to_owned()), Claimed::Output)
            }
        },
        "output-error" => Claimed::Failed(part.text("errorText").unwrap_or_default()),
        _ => return None,
    };
    let input = part.raw("input").map(|input| input.get().to_owned());
    Some(Claim { call, input, claimed, is_last })
}

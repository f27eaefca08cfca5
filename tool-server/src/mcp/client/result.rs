//! Results of a server: bounded, checked against its declaration, and text of strangers in any case.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tool_runtime::{CallError, Contents, Failure, Output, Part, feedback::one_line, schema::Validator};

use super::Limits;

/// Returns the output of a call.
///
/// Fails when the tool failed, the result is larger than the limit, or is not what the server declared.
pub fn output(result: CallToolResult, declared: Option<&Validator>, limits: &Limits) -> Result<Output, CallError> {
    let structured = result.structured_content.as_ref().map(ToString::to_string);
    let bytes = result.content.iter().map(size).sum::<usize>() + structured.as_ref().map_or(0, String::len);
    if bytes > limits.result_bytes {
        let most = limits.result_bytes;
        return Err(Failure::new(format!("the result has {bytes} bytes, and at most {most} are taken")).into());
    }
    let parts: Vec<Part> = result.content.into_iter().map(part).collect();
    if result.is_error == Some(true) {
        let text: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        let text = if text.is_empty() { "the tool failed".to_owned() } else { text.join("\n") };
        return Err(Failure::new(text).into());
    }
    let Some(value) = result.structured_content else { return Ok(Output::content(parts)) };
    let problems = declared.map(|declared| declared.problems(&value, "")).unwrap_or_default();
    if let Some(problem) = problems.first() {
        let text = format!("the MCP server's result is not what it declared: {problem}");
        return Err(Failure::new(text).into());
    }
    let output = Output::json(&value)?;
    // Many servers repeat the value as a text, for clients that see no other.
    let repeats = match &parts[..] {
        [] => true,
        [Part::Text { text }] => serde_json::from_str(text).is_ok_and(|text: serde_json::Value| text == value),
        _ => false,
    };
    Ok(if repeats { output } else { output.show(parts) })
}

fn size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len() + image.mime_type.len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    }
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) if is_media("image/", &image.mime_type, &image.data) => {
            Part::Image { media_type: image.mime_type, data: image.data }
        }
        ContentBlock::Image(_) => Part::text("(an image that cannot be read)"),
        ContentBlock::Audio(audio) if is_media("audio/", &audio.mime_type, &audio.data) => {
            Part::Audio { media_type: audio.mime_type, data: audio.data }
        }
        ContentBlock::Audio(_) => Part::text("(sound that cannot be read)"),
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        ContentBlock::ResourceLink(link) => Part::text(format!("{} ({})", link.uri, link.name)),
        _ => Part::text("(content of a kind that is not known here)"),
    }
}

fn resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            Part::Resource { uri: one_line(&uri), media_type: media(mime_type), contents: Contents::Text(text) }
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } if is_base64(&blob) => {
            Part::Resource { uri: one_line(&uri), media_type: media(mime_type), contents: Contents::Base64(blob) }
        }
        ResourceContents::BlobResourceContents { uri, .. } => {
            Part::text(format!("({}, which cannot be read)", one_line(&uri)))
        }
        _ => Part::text("(a resource of a kind that is not known here)"),
    }
}

/// Returns a media type that a provider can be given; `None` otherwise.
fn media(media_type: Option<String>) -> Option<String> {
    media_type.filter(|media_type| is_usable(media_type))
}

fn is_usable(media_type: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.');
    media_type.len() <= 64 && media_type.chars().all(usable)
}

/// Returns `true` if the media type is of `kind`, and the data is base64.
fn is_media(kind: &str, media_type: &str, data: &str) -> bool {
    media_type.starts_with(kind) && is_usable(media_type) && is_base64(data)
}

fn is_base64(data: &str) -> bool {
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

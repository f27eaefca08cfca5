//! The messages of an input.

use serde_json::value::RawValue;

use super::{Fields, MOST_WARNINGS, Malformed, RunInput};
use crate::protocol::ag_ui::message::{Content, ContentPart, Message, MessageCall, Source};
use crate::protocol::members::{self, Members};
use tool_runtime::feedback;

/// Adds a message to `input`, or a warning where its role is not known.
///
/// What nothing here depends on is read over, however deep it is nested: clients send their history with every request.
pub(super) fn read(value: &RawValue, path: &str, input: &mut RunInput) -> Result<(), Malformed> {
    let mut fields = Fields::of(value, path)?;
    let role = fields.text("role")?;
    let id = fields.text("id");
    // The latest run is the last one; what other agents of the thread have sealed is theirs.
    if let Some(sealed) = common(&mut fields)?.filter(|sealed| sealed.starts_with("tool-run-")) {
        input.sealed_before.extend(input.sealed_by.take());
        (input.sealed, input.sealed_by) = (Some(sealed), id.as_ref().ok().cloned());
    }
    let warnings = &mut input.warnings;
    input.messages.push(match role.as_str() {
        "developer" => Message::Developer { id: id?, content: fields.text("content")? },
        "system" => Message::System { id: id?, content: fields.text("content")? },
        "assistant" => Message::Assistant {
            id: id?,
            content: assistant(&mut fields)?,
            tool_calls: fields.items("toolCalls", call)?,
        },
        "user" => Message::User { id: id?, content: content(&mut fields, path, warnings)? },
        "tool" => Message::Tool {
            id: id?,
            tool_call_id: fields.text("toolCallId")?,
            content: content(&mut fields, path, warnings)?,
            error: fields.maybe_text("error")?,
        },
        "activity" => Message::Activity {
            id: id?,
            activity_type: fields.text("activityType")?,
            content: fields.raw_object("content")?.and_then(members::value).unwrap_or_default(),
        },
        "reasoning" => Message::Reasoning { id: id?, content: fields.text("content")? },
        other => {
            warnings.push(format!("{path} was left out: the role {} is not known", feedback::name(other)));
            return Ok(());
        }
    });
    warnings.truncate(MOST_WARNINGS);
    Ok(())
}

/// Checks what any message may have, and returns the `encryptedValue`.
fn common(fields: &mut Fields<'_, '_>) -> Result<Option<String>, Malformed> {
    fields.maybe_text("name")?;
    fields.maybe_text("subagentRunId")?;
    fields.raw_object("metadata")?;
    fields.maybe_text("encryptedValue")
}

/// The text of an assistant's message. Parts are for a later version; their texts are taken.
fn assistant(fields: &mut Fields<'_, '_>) -> Result<Option<String>, Malformed> {
    let Some(content) = fields.raw("content") else { return Ok(None) };
    if let Some(parts) = members::list(content) {
        let texts = parts.into_iter().filter_map(|part| Members::of(part)?.text("text"));
        return Ok(Some(texts.collect()));
    }
    let text = members::text(content);
    text.map(Some).ok_or_else(|| Malformed::new(fields.at("content"), "a text").got(content))
}

fn call(mut fields: Fields<'_, '_>) -> Result<MessageCall, Malformed> {
    let id = fields.text("id")?;
    if let Some(kind) = fields.maybe_text("type")?
        && kind != "function"
    {
        return Err(Malformed::new(fields.at("type"), "`function`").got_text(&kind));
    }
    let at = fields.at("function");
    let function = fields.raw("function").ok_or_else(|| Malformed::new(at.clone(), "an object"))?;
    let mut function = Fields::of(function, &at)?;
    Ok(MessageCall { id, name: function.text("name")?, arguments: function.text("arguments")? })
}

fn content(fields: &mut Fields<'_, '_>, path: &str, warnings: &mut Vec<String>) -> Result<Content, Malformed> {
    let at = fields.at("content");
    let wanted = "a text or a list of parts";
    let content = fields.raw("content").ok_or_else(|| Malformed::new(at.clone(), wanted))?;
    let Some(items) = members::list(content) else {
        let text = members::text(content).map(Content::Text);
        return text.ok_or_else(|| Malformed::new(at, wanted).got(content));
    };
    let mut parts = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        let place = format!("{at}[{number}]");
        let read = part(item, &place)?;
        if read.is_none() {
            warnings.push(format!("a part of {path} was left out: {place} is of no known type"));
        }
        parts.extend(read);
    }
    Ok(Content::Parts(parts))
}

/// A part of a message; `None` where its type is not known.
fn part(value: &RawValue, path: &str) -> Result<Option<ContentPart>, Malformed> {
    let mut fields = Fields::of(value, path)?;
    Ok(Some(match fields.text("type")?.as_str() {
        "text" => {
            let metadata = fields.raw("metadata").and_then(members::value);
            ContentPart::Text { text: fields.text("text")?, metadata }
        }
        "image" => ContentPart::Image { source: source(&mut fields)? },
        "audio" => ContentPart::Audio { source: source(&mut fields)? },
        "video" => ContentPart::Video { source: source(&mut fields)? },
        "document" => ContentPart::Document { source: source(&mut fields)? },
        "binary" => return binary(&mut fields),
        _ => return Ok(None),
    }))
}

fn source(fields: &mut Fields<'_, '_>) -> Result<Source, Malformed> {
    let at = fields.at("source");
    let value = fields.raw("source").ok_or_else(|| Malformed::new(at.clone(), "an object"))?;
    let mut source = Fields::of(value, &at)?;
    match source.text("type")?.as_str() {
        "data" => Ok(Source::Data { value: source.text("value")?, mime_type: source.text("mimeType")? }),
        "url" => Ok(Source::Url { value: source.text("value")?, mime_type: source.maybe_text("mimeType")? }),
        "file" => Ok(Source::File {
            value: source.text("value")?,
            provider: source.maybe_text("provider")?,
            mime_type: source.maybe_text("mimeType")?,
        }),
        other => Err(Malformed::new(source.at("type"), "`data`, `url` or `file`").got_text(other)),
    }
}

/// How clients before 1.0 wrote everything that is no text.
fn binary(fields: &mut Fields<'_, '_>) -> Result<Option<ContentPart>, Malformed> {
    let mime_type = fields.text("mimeType")?;
    let source = match (fields.maybe_text("data")?, fields.maybe_text("url")?) {
        (Some(value), _) => Source::Data { value, mime_type: mime_type.clone() },
        (None, Some(value)) => Source::Url { value, mime_type: Some(mime_type.clone()) },
        (None, None) => return Ok(None),
    };
    Ok(Some(match mime_type.split('/').next() {
        Some("image") => ContentPart::Image { source },
        Some("audio") => ContentPart::Audio { source },
        Some("video") => ContentPart::Video { source },
        _ => ContentPart::Document { source },
    }))
}

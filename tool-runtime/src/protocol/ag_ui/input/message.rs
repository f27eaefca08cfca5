//! The messages of an input.

use serde_json::Value;

use super::{Fields, Malformed};
use crate::feedback;
use crate::protocol::ag_ui::message::{Content, ContentPart, Message, MessageCall, Source};

/// A message; `None` where its role is not known.
pub(super) fn read(value: Value, path: &str, warnings: &mut Vec<String>) -> Result<Option<Message>, Malformed> {
    let mut fields = Fields::of(value, path)?;
    let role = fields.text("role")?;
    let id = fields.text("id");
    common(&mut fields)?;
    Ok(Some(match role.as_str() {
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
            content: fields.object("content")?.unwrap_or_default(),
        },
        "reasoning" => Message::Reasoning { id: id?, content: fields.text("content")? },
        other => {
            warnings.push(format!("{path} was left out: the role {} is not known", feedback::name(other)));
            return Ok(None);
        }
    }))
}

/// What any message may have. Nothing here goes by it, but what is wrong is refused.
fn common(fields: &mut Fields<'_>) -> Result<(), Malformed> {
    fields.maybe_text("name")?;
    fields.maybe_text("encryptedValue")?;
    fields.maybe_text("subagentRunId")?;
    fields.object("metadata")?;
    Ok(())
}

/// The text of an assistant's message. Parts are for a later version; their texts are taken.
fn assistant(fields: &mut Fields<'_>) -> Result<Option<String>, Malformed> {
    match fields.any("content") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| part["text"].as_str().map(str::to_owned);
            Ok(Some(parts.iter().filter_map(text).collect()))
        }
        Some(other) => Err(Malformed::new(fields.at("content"), "a text").got(&other)),
    }
}

fn call(mut fields: Fields<'_>) -> Result<MessageCall, Malformed> {
    let id = fields.text("id")?;
    if let Some(kind) = fields.maybe_text("type")?
        && kind != "function"
    {
        return Err(Malformed::new(fields.at("type"), "`function`").got(&kind.into()));
    }
    let at = fields.at("function");
    let function = fields.any("function").ok_or_else(|| Malformed::new(at.clone(), "an object"))?;
    let mut function = Fields::of(function, &at)?;
    Ok(MessageCall { id, name: function.text("name")?, arguments: function.text("arguments")? })
}

fn content(fields: &mut Fields<'_>, path: &str, warnings: &mut Vec<String>) -> Result<Content, Malformed> {
    let at = fields.at("content");
    match fields.any("content") {
        Some(Value::String(text)) => Ok(Content::Text(text)),
        Some(Value::Array(items)) => {
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
        Some(other) => Err(Malformed::new(at, "a text or a list of parts").got(&other)),
        None => Err(Malformed::new(at, "a text or a list of parts")),
    }
}

/// A part of a message; `None` where its type is not known.
fn part(value: Value, path: &str) -> Result<Option<ContentPart>, Malformed> {
    let mut fields = Fields::of(value, path)?;
    Ok(Some(match fields.text("type")?.as_str() {
        "text" => ContentPart::Text { text: fields.text("text")?, metadata: fields.any("metadata") },
        "image" => ContentPart::Image { source: source(&mut fields)? },
        "audio" => ContentPart::Audio { source: source(&mut fields)? },
        "video" => ContentPart::Video { source: source(&mut fields)? },
        "document" => ContentPart::Document { source: source(&mut fields)? },
        "binary" => return binary(&mut fields),
        _ => return Ok(None),
    }))
}

fn source(fields: &mut Fields<'_>) -> Result<Source, Malformed> {
    let at = fields.at("source");
    let value = fields.any("source").ok_or_else(|| Malformed::new(at.clone(), "an object"))?;
    let mut source = Fields::of(value, &at)?;
    match source.text("type")?.as_str() {
        "data" => Ok(Source::Data { value: source.text("value")?, mime_type: source.text("mimeType")? }),
        "url" => Ok(Source::Url { value: source.text("value")?, mime_type: source.maybe_text("mimeType")? }),
        "file" => Ok(Source::File {
            value: source.text("value")?,
            provider: source.maybe_text("provider")?,
            mime_type: source.maybe_text("mimeType")?,
        }),
        other => Err(Malformed::new(source.at("type"), "`data`, `url` or `file`").got(&other.into())),
    }
}

/// How clients before 1.0 wrote everything that is no text.
fn binary(fields: &mut Fields<'_>) -> Result<Option<ContentPart>, Malformed> {
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

//! The results of a server, part by part. A part that is not of the protocol is left out, and named where its loss matters.

use rmcp::model::{
    CallToolResult, ContentBlock, CustomResult, InitializeResult, ListToolsResult, MetaObject, Resource,
    ResourceContents, ServerResult, Tool,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};
use tool_runtime::feedback::{escape, one_line};
use tool_schema::json::{is_same_value, text::compact};

use crate::mcp::message::{read, read_object};

/// Reads the response to `initialize`. Returns `None` if it names no version of the protocol.
pub fn read_initialization(text: &str) -> Option<ServerResult> {
    let given: Map<String, Value> = read_object(text)?;
    let needed = json!({
        "protocolVersion": given.get("protocolVersion")?,
        "capabilities": {},
        "serverInfo": { "name": "", "version": "" },
    });
    Some(ServerResult::InitializeResult(join_parts(needed, &given)?))
}

/// Reads the response to `server/discover`. Returns `None` if it names no versions of the protocol.
pub fn read_discovery(text: &str) -> Option<ServerResult> {
    let given: Map<String, Value> = read_object(text)?;
    let needed = json!({
        "resultType": "complete",
        "supportedVersions": given.get("supportedVersions")?,
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "private",
    });
    Some(ServerResult::DiscoverResult(join_parts(needed, &given)?))
}

/// Returns the response to `initialize` of a server that responded to `server/discover` only. rmcp then leaves the handshake out.
pub fn read_late_discovery(text: &str) -> Option<ServerResult> {
    let Some(ServerResult::DiscoverResult(found)) = read_discovery(text) else { return None };
    let version = found.supported_versions.iter().find(|version| !version.has_initialize())?;
    let mut result = InitializeResult::new(found.capabilities);
    result.protocol_version = version.clone();
    Some(ServerResult::InitializeResult(result))
}

/// Returns the value of `needed` with each member of `given` that fits. Of a member that does not fit, the members that fit are
/// taken.
fn join_parts<T: DeserializeOwned>(mut needed: Value, given: &Map<String, Value>) -> Option<T> {
    let fits = |whole: &Value| serde_json::from_value::<T>(whole.clone()).is_ok();
    for (name, part) in given {
        let mut with = needed.clone();
        with[name] = part.clone();
        if fits(&with) {
            needed = with;
            continue;
        }
        for (inner, part) in part.as_object().into_iter().flatten() {
            let mut with = needed.clone();
            if with[name].is_object() {
                with[name][inner] = part.clone();
                if fits(&with) {
                    needed = with;
                }
            }
        }
    }
    serde_json::from_value(needed).ok()
}

/// The key under which the result of `tools/list` holds the definitions as they came.
const AS_THEY_CAME: &str = "tool-runtime/definitions";

/// A page of the list of tools, as it came.
#[derive(Default, Deserialize, Serialize)]
pub struct Page {
    /// The texts of the definitions.
    pub definitions: Vec<Box<RawValue>>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

/// Reads a page of the list of tools. Returns `None` if it is no page.
///
/// The SDK gets the tools that it can read, without their texts, because it makes HTTP headers of their schemas.
pub fn read_list(text: &str) -> Option<ServerResult> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        tools: Option<Box<RawValue>>,
        next_cursor: Option<Box<RawValue>>,
    }
    let given: Given = read_object(text)?;
    let page = Page {
        // Some servers write a list without tools as `null`.
        definitions: given.tools.map_or(Some(Vec::new()), |tools| read(&tools))?,
        next: given.next_cursor.and_then(|cursor| match read(&cursor)? {
            Value::String(cursor) => Some(cursor),
            Value::Number(cursor) => Some(cursor.to_string()),
            _ => None,
        }),
    };
    let mut result =
        ListToolsResult::with_all_items(page.definitions.iter().filter_map(|tool| tool_of(tool)).collect());
    let page = serde_json::to_string(&page).ok()?;
    result.meta = Some(MetaObject(Map::from_iter([(AS_THEY_CAME.to_owned(), page.into())])));
    Some(ServerResult::ListToolsResult(result))
}

/// Returns the name of the tool in a definition that the SDK can read.
pub fn name_of(definition: &RawValue) -> Option<String> {
    Some(tool_of(definition)?.name.into_owned())
}

/// Returns the parts of a definition that the SDK needs, if it has them.
fn tool_of(definition: &RawValue) -> Option<Tool> {
    let Value::Object(mut given) = read(definition)? else { return None };
    let (Some(Value::String(name)), Some(Value::Object(input))) = (given.remove("name"), given.remove("inputSchema"))
    else {
        return None;
    };
    Some(Tool::new(name, "", input))
}

impl Page {
    /// Returns the page in the result of `tools/list`.
    pub fn of(result: &ListToolsResult) -> Option<Self> {
        serde_json::from_str(result.meta.as_ref()?.0.get(AS_THEY_CAME)?.as_str()?).ok()
    }
}

/// The key under which a result holds a request for input as it came. rmcp's types lose limits of forms.
const INPUT_REQUIRED: &str = "tool-runtime/input_required";

/// Returns the request for input in the result of a call.
pub fn input_required(result: &mut CustomResult) -> Option<Value> {
    result.0.get_mut(INPUT_REQUIRED).map(Value::take)
}

/// The key under which the result of a call holds the JSON of structured content with numbers that a [`Value`] cannot hold.
const EXACT: &str = "tool-runtime/structured";

/// Returns the structured content of a result as JSON with all digits.
pub fn exact_content(result: &CallToolResult) -> Option<String> {
    let exact = result.meta.as_ref().and_then(|meta| meta.0.get(EXACT)?.as_str());
    exact.map(str::to_owned).or_else(|| Some(result.structured_content.as_ref()?.to_string()))
}

/// The members of a result without content.
const KNOWN_MEMBERS: [&str; 5] = ["_meta", "resultType", "content", "structuredContent", "isError"];

/// The maximum number of members that a result names because they are not known here.
const MAX_NAMED: usize = 3;

/// The members of a result, unread.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenResult {
    result_type: Option<Box<RawValue>>,
    content: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Box<RawValue>>,
    is_error: Option<Box<RawValue>>,
}

/// Reads the result of a call. Some servers send only its content. Returns `None` for a number, `null`, and what is nested too deep.
pub fn read_call_result(text: &str) -> Option<ServerResult> {
    if text.starts_with(['"', '[']) {
        let content: &RawValue = serde_json::from_str(text).ok()?;
        return Some(ServerResult::CallToolResult(CallToolResult::success(read_content(content))));
    }
    let given: GivenResult = read_object(text)?;
    match given.result_type.as_deref().and_then(read::<String>).as_deref() {
        None | Some("complete") => {}
        Some("input_required") => {
            let asks: Value = serde_json::from_str(text).ok()?;
            return Some(ServerResult::CustomResult(CustomResult::new(json!({ INPUT_REQUIRED: asks }))));
        }
        Some(_) => return Some(ServerResult::CustomResult(CustomResult::new(serde_json::from_str(text).ok()?))),
    }
    let mut result = CallToolResult::success(given.content.as_deref().map(read_content).unwrap_or_default());
    if given.content.is_none() && given.structured_content.is_none() {
        let whole: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        let unknown = whole.keys().filter(|name| !KNOWN_MEMBERS.contains(&name.as_str()));
        let unknown: Vec<_> = unknown.map(|name| format!("`{}`", summarize_text(name))).take(MAX_NAMED).collect();
        if !unknown.is_empty() {
            result.content.push(note(&format!("only {}, which is not known here", unknown.join(", "))));
        }
    }
    if let Some(structured) = given.structured_content {
        match serde_json::from_str::<Value>(structured.get()) {
            Ok(value) => {
                let json = compact(structured.get());
                if !is_same_value(&json, &value.to_string()) {
                    result.meta = Some(MetaObject(Map::from_iter([(EXACT.to_owned(), json.into())])));
                }
                result.structured_content = Some(value);
            }
            Err(error) => result.content.push(note(&format!("structured content that cannot be read: {error}"))),
        }
    }
    result.is_error = Some(match given.is_error.as_deref().map(read::<Value>) {
        None => false,
        Some(Some(Value::Bool(is_error))) => is_error,
        Some(Some(Value::String(text))) if text.eq_ignore_ascii_case("true") => true,
        Some(other) => {
            let other = other.unwrap_or_default();
            result.content.push(note(&format!("`isError` is {}, which is not known here", summarize(&other))));
            false
        }
    });
    Some(ServerResult::CallToolResult(result))
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// Returns a text that names a part of a result that is not known here.
fn note(text: &str) -> ContentBlock {
    ContentBlock::text(format!("({})", escape(text)))
}

/// Returns the beginning of a value of the server.
fn summarize(value: &Value) -> String {
    one_line(&value.to_string().chars().take(80).collect::<String>())
}

/// Reads the content of a result. Some servers send a text or one block in place of a list.
fn read_content(content: &RawValue) -> Vec<ContentBlock> {
    match read::<Vec<Box<RawValue>>>(content) {
        Some(blocks) => blocks.iter().map(|block| read_block(block)).collect(),
        None if content.get() == "null" => Vec::new(),
        None => vec![read_block(content)],
    }
}

/// Reads a block of content. Annotations are not used here, so it does not matter what they contain.
fn read_block(block: &RawValue) -> ContentBlock {
    let mut given = match serde_json::from_str(block.get()) {
        Ok(Value::Object(given)) => given,
        Ok(Value::String(text)) => return ContentBlock::text(text),
        Ok(other) => return note(&format!("content that is no object: {}", summarize(&other))),
        Err(error) => return note(&format!("content that cannot be read: {error}")),
    };
    let mut text = |name: &str| match given.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    match text("type").as_deref() {
        Some("text") => match text("text") {
            Some(text) => ContentBlock::text(text),
            None => note("a text that cannot be read"),
        },
        Some(kind @ ("image" | "audio")) => match (text("data"), text("mimeType")) {
            (Some(data), Some(media_type)) if kind == "image" => ContentBlock::image(data, media_type),
            (Some(data), Some(media_type)) => ContentBlock::audio(data, media_type),
            (Some(_), None) => {
                note(&format!("{} without a media type", if kind == "image" { "an image" } else { "sound" }))
            }
            (None, _) => note(&format!("{} without data", if kind == "image" { "an image" } else { "sound" })),
        },
        Some("resource_link") => match (text("uri"), text("name")) {
            (Some(uri), Some(name)) => ContentBlock::resource_link(Resource::new(uri, name)),
            (Some(uri), None) => ContentBlock::text(uri),
            (None, name) => note(&format!("a link without an address: {}", name.unwrap_or_default())),
        },
        Some("resource") => match given.remove("resource") {
            Some(Value::Object(resource)) => read_resource(resource),
            _ => note("a resource without contents"),
        },
        Some(kind) => note(&format!("content of the kind `{}`, which is not known here", summarize_text(kind))),
        None => note("content without a kind"),
    }
}

fn summarize_text(text: &str) -> String {
    one_line(&text.chars().take(80).collect::<String>())
}

fn read_resource(mut given: Map<String, Value>) -> ContentBlock {
    let mut text = |name: &str| match given.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let media_type = text("mimeType");
    let with_type = |contents: ResourceContents| match media_type {
        Some(media_type) => contents.with_mime_type(media_type),
        None => contents,
    };
    match (text("uri"), text("text"), text("blob")) {
        (Some(uri), Some(text), _) => {
            let contents = ResourceContents::TextResourceContents { uri, mime_type: None, text, meta: None };
            ContentBlock::resource(with_type(contents))
        }
        (Some(uri), None, Some(blob)) => ContentBlock::resource(with_type(ResourceContents::blob(blob, uri))),
        (None, Some(text), _) => ContentBlock::text(text),
        (None, None, Some(_)) => note("a resource without an address"),
        (uri, None, None) => note(&format!("{}, a resource without contents", uri.unwrap_or_default())),
    }
}

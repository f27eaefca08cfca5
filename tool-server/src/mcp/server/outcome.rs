//! How a call ended, as MCP tells it.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::Value;
use tool_runtime::{Contents, Part, Rejection, run::CallResult};

/// Where feedback stands for clients that were told an output schema, which it does not fit.
const FEEDBACK: &str = "tool-runtime/feedback";

/// What a client is told of a call that has ended: `parts`, the same as a model of ours. `has_schema` says whether an output
/// schema was told for this client, which what is structured must then fit.
pub(super) fn told(parts: Vec<Part>, result: &CallResult, has_schema: bool) -> CallToolResult {
    let content: Vec<ContentBlock> = parts.into_iter().map(block).collect();
    if !result.is_success() {
        let mut told = CallToolResult::error(content);
        match feedback(result) {
            Some(feedback) if has_schema => {
                let mut meta = MetaObject::new();
                meta.insert(FEEDBACK.to_owned(), feedback);
                told.meta = Some(meta);
            }
            feedback => told.structured_content = feedback,
        }
        return told;
    }
    let mut told = CallToolResult::success(content);
    if has_schema {
        let json = result.output().and_then(|output| output.as_json());
        told.structured_content = json.and_then(|json| serde_json::from_str(json).ok());
    }
    told
}

/// What is wrong with the arguments, in the words of tool2agent.
fn feedback(result: &CallResult) -> Option<Value> {
    let feedback = match result {
        CallResult::Rejected { feedback } => feedback,
        CallResult::Failed { feedback: Some(feedback), .. } => feedback,
        _ => return None,
    };
    serde_json::from_str(&Rejection::to_json_text(feedback)).ok()
}

/// A call that is refused before it becomes one, or cannot be finished.
pub(super) fn refused(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn block(part: Part) -> ContentBlock {
    match part {
        Part::Text { text } => ContentBlock::text(text),
        Part::Json { json } => ContentBlock::text(json),
        Part::Image { media_type, data } => ContentBlock::image(data, media_type),
        Part::Audio { media_type, data } => ContentBlock::audio(data, media_type),
        Part::Resource { uri, media_type: mime_type, contents } => ContentBlock::resource(match contents {
            Contents::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta: None },
            Contents::Base64(blob) => ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None },
        }),
    }
}

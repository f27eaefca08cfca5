//! What a tool can give back.

use std::time::Duration;

use tool_runtime::{Content, Contents, Context, Failure, Image, Part, Text, Toolset, tool, toolset};
use tool_server::mcp::{LogLevel, server::McpClient};

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// No samples, in the form of a WAV file.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn tools() -> Toolset {
    toolset!(
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_tool_with_logging,
        test_logging_tool,
        test_reconnection
    )
}

/// Gives a text.
#[tool(effect = read_only)]
fn test_simple_text() -> Text {
    Text("This is a simple text response for testing.".to_owned())
}

/// Gives an image.
#[tool(effect = read_only)]
fn test_image_content() -> Image {
    Image { media_type: "image/png".to_owned(), data: PNG.to_owned() }
}

/// Gives sound.
#[tool(effect = read_only)]
fn test_audio_content() -> Content {
    Content(vec![Part::Audio { media_type: "audio/wav".to_owned(), data: WAV.to_owned() }])
}

/// Gives a resource with its text.
#[tool(effect = read_only)]
fn test_embedded_resource() -> Content {
    Content(vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
}

/// Gives a text, an image and a resource.
#[tool(effect = read_only)]
fn test_multiple_content_types() -> Content {
    let image = Part::Image { media_type: "image/png".to_owned(), data: PNG.to_owned() };
    let data = resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#);
    Content(vec![Part::text("Multiple content types test:"), image, data])
}

fn resource(uri: &str, media_type: &str, text: &str) -> Part {
    let (uri, media_type) = (uri.to_owned(), Some(media_type.to_owned()));
    Part::Resource { uri, media_type, contents: Contents::Text(text.to_owned()) }
}

/// Always fails.
#[tool(effect = read_only)]
fn test_error_handling() -> Result<Text, Failure> {
    Err(Failure::told("This tool intentionally returns an error for testing"))
}

/// Reports how far it has come.
#[tool(effect = read_only)]
async fn test_tool_with_progress(#[context] cx: &Context) -> Text {
    for done in [0.0, 50.0, 100.0] {
        cx.progress(done, Some(100.0), format!("{done} of 100"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Text("Done.".to_owned())
}

/// Logs what it does.
#[tool(effect = read_only)]
async fn test_tool_with_logging(#[context] cx: &Context) -> Text {
    log(cx).await
}

/// The same, for requests that may not want it.
#[tool(effect = read_only)]
async fn test_logging_tool(#[context] cx: &Context) -> Text {
    log(cx).await
}

async fn log(cx: &Context) -> Text {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if let Some(client) = cx.get::<McpClient>() {
            client.log(LogLevel::Info, text).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Text("Done.".to_owned())
}

/// Lets go of its client's connection, and ends when that is gone.
#[tool(effect = read_only)]
async fn test_reconnection(#[context] cx: &Context) -> Text {
    if let Some(client) = cx.get::<McpClient>() {
        client.release(Duration::from_millis(500));
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    Text("Reconnection test completed.".to_owned())
}

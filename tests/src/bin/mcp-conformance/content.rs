//! What a tool can give back.

use std::time::Duration;

use tool_runtime::{Content, Context, Failure, Image, Part, Text, Toolset, tool, toolset};

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

pub(crate) fn tools() -> Toolset {
    toolset!(
        test_simple_text,
        test_image_content,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress
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

/// Gives a text and an image.
#[tool(effect = read_only)]
fn test_multiple_content_types() -> Content {
    let image = Part::Image { media_type: "image/png".to_owned(), data: PNG.to_owned() };
    Content(vec![Part::text("Multiple content types test:"), image])
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

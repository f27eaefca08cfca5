//! Decoding and encoding, without a network.

mod decoding;
mod encoding;
mod servers;
mod text_calls;

use std::sync::Arc;

use serde_json::Value;

use super::provider_of;
use tool_runtime::{schema::Schema, tool::ToolSpec};

fn tool(name: &str, strict: bool, parameters: Value) -> Arc<ToolSpec> {
    let mut spec = ToolSpec::new(name, format!("does {name}"), Schema::new(parameters));
    spec.traits.strict = strict;
    Arc::new(spec)
}

#[test]
fn providers_by_their_hosts() {
    assert_eq!(provider_of("https://api.openai.com/v1"), Some("openai"));
    assert_eq!(provider_of("https://mine.openai.azure.com:443/openai/v1"), Some("azure.ai.openai"));
    assert_eq!(provider_of("https://generativelanguage.googleapis.com/v1beta/openai"), Some("gcp.gemini"));
    assert_eq!(provider_of("http://127.0.0.1:8080/v1"), None);
    assert_eq!(provider_of("https://notapi.openai.com.evil.example/v1"), None);
}

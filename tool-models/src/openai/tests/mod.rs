//! Decoding and encoding, without a network.

mod decoding;
mod encoding;
mod servers;
mod text_calls;

use std::sync::Arc;

use serde_json::Value;

use tool_runtime::{schema::Schema, tool::ToolSpec};

fn tool(name: &str, strict: bool, parameters: Value) -> Arc<ToolSpec> {
    let mut spec = ToolSpec::new(name, format!("does {name}"), Schema::new(parameters));
    spec.traits.strict = strict;
    Arc::new(spec)
}

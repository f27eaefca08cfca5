//! Decoding and encoding, without a network.

mod decoding;
mod encoding;
mod servers;
mod text_calls;

use std::sync::Arc;

use serde_json::Value;

use crate::{
    schema::Schema,
    tool::{ToolSpec, Traits},
};

fn tool(name: &str, strict: bool, parameters: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.to_owned(),
        title: None,
        description: format!("does {name}"),
        input: Arc::new(Schema::new(parameters)),
        output: None,
        traits: Traits { strict, ..Traits::default() },
    })
}

//! Recorded tool calls of the example `middleware`, a search behind two filters.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::{
    Message, Part, Toolset,
    model::{FunctionModel, Model, Turn},
};

use super::compare;
use crate::case;

/// The layers of the example `middleware`.
#[path = "../../../../../examples/src/bin/middleware/layers.rs"]
mod layers;

/// Runs the calls. The judge, which is a model, rejects two words.
pub(super) async fn run(calls: &[Value]) -> Result<(), String> {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let tools = Toolset::of(vec![layers::filtered(judge(Arc::clone(&prompts)))]).map_err(|error| error.to_string())?;
    for call in calls {
        if call["op"].as_str().is_some_and(|op| op.starts_with("prompts")) {
            let prompts = prompts.lock().map_err(|error| error.to_string())?.clone();
            compare(call, &json!(prompts))?;
        } else {
            compare(call, &case::answer(&tools, &call["input"]).await)?;
        }
    }
    Ok(())
}

fn judge(prompts: Arc<Mutex<Vec<String>>>) -> impl Model {
    FunctionModel::new(move |request| {
        let prompt = request.messages.iter().find_map(|message| match message {
            Message::User { content } => content.iter().find_map(Part::as_text),
            _ => None,
        });
        let prompt = prompt.unwrap_or_default().to_owned();
        let is_evil = ["\"satan\"", "\"demon\""].iter().any(|query| prompt.contains(query));
        if let Ok(mut prompts) = prompts.lock() {
            prompts.push(prompt);
        }
        Turn::call("final_answer", json!({ "isEvil": is_evil }))
    })
}

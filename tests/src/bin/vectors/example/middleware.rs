//! The search with two filters.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::{
    Message, Part, Toolset,
    model::{FunctionModel, Model, Turn},
};

use crate::case;

#[path = "../../../../../examples/src/bin/middleware/search.rs"]
#[allow(dead_code, reason = "the example's own judge is not asked here")]
mod search;

/// The search behind two filters, with a judge for whom two words are evil.
pub(super) fn run(case: &Value) -> Result<(), String> {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let tools = Toolset::of(vec![search::filtered(judge(Arc::clone(&prompts)))]).map_err(|error| error.to_string())?;
    case::block_on(async {
        for call in case["calls"].as_array().ok_or("no calls")? {
            if call["op"].as_str().is_some_and(|op| op.starts_with("prompts")) {
                let prompts = prompts.lock().map_err(|error| error.to_string())?;
                case::same(&call["result"], &json!(*prompts))?;
                continue;
            }
            case::same(&call["result"], &case::answer(&tools, &call["input"]).await)?;
        }
        Ok(())
    })
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

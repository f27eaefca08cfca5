//! A search tool under a policy, and a model that learns from what the tool refuses.
//!
//! The tool finds lines by exact match, and refuses some words. Its structured answer names the wrong parameter and adds an
//! instruction, which the model follows.

mod library;
mod searcher;
mod thesaurus;

pub use library::{Found, Library, search};
pub use searcher::searcher;

use tool_runtime::{Agent, model::Model, model::Settings, toolset};

const INSTRUCTIONS: &str = "You search a dataset of documents. It is searched by exact match: a document is found if it \
    contains the query as it is. When the tool refuses a query, read why, and follow its instructions.";

/// Returns an agent that searches `library`.
pub fn agent(model: impl Model + 'static, library: Library) -> Agent {
    Agent::new(model)
        .tools(toolset!(library; search))
        .instructions(INSTRUCTIONS)
        .settings(Settings { parallel_calls: Some(false), ..Settings::default() })
        .max_steps(15)
}

/// Returns the agent's task.
pub fn question(word: &str) -> String {
    format!("Find the DOC_ID of the document that contains the word \"{word}\". Answer with the number only.")
}

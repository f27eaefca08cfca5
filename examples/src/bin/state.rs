//! Methods of a type as tools: the type is their state. `toolset!(notes; NotesWriteNote)` selects some of them.
//!
//! `cargo run -p examples --bin state` prints:
//!
//! ```text
//! {"title":"buy milk","number":1}
//! ["buy milk"]
//! there is no note 7
//! ```

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tool_runtime::{Context, Failure, tools};

/// A note.
#[derive(Serialize, JsonSchema)]
struct Note {
    title: String,
    number: usize,
}

/// A person's notes.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[tools]
impl Notes {
    /// Write a note.
    #[tool]
    async fn write_note(
        &self,
        /// Its text.
        #[arg(length(1..=200))]
        title: String,
    ) -> Note {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(title.clone());
        Note { title, number: notes.len() }
    }

    /// List all notes.
    #[tool(effect = read_only)]
    async fn list_notes(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remove a note.
    #[tool(effect = write)]
    async fn remove_note(
        &self,
        /// Its number, from 1.
        #[arg(range(1..))]
        number: usize,
    ) -> Result<String, Failure> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if number > notes.len() {
            // The model receives this text. With `?`, it would learn only that the tool failed.
            return Err(Failure::new(format!("there is no note {number}")));
        }
        Ok(notes.remove(number - 1))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tools = Notes::default().toolset();
    let calls = [
        ("write_note", json!({ "title": "buy milk" })),
        ("list_notes", json!({})),
        ("remove_note", json!({ "number": 7 })),
    ];
    for (tool, arguments) in calls {
        let result = tools.call(tool, &arguments.to_string(), &Context::new("call_1")).await;
        println!("{}", result.map_or_else(|error| error.to_string(), |output| output.text()));
    }
}

//! How far a tool has come, and what it has so far, on the way to whoever watches.

use serde::Serialize;
use serde_json::Value;

use super::{Context, Output, Tool};

/// How far a tool has come.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The call that reports.
    pub call_id: String,
    /// What is done, in the same unit as `total`.
    pub done: f64,
    /// What there is to do, where that is known.
    pub total: Option<f64>,
    /// What is being done, for a person.
    pub message: Option<String>,
    /// A preliminary output, for a user interface: the whole of it, in place of what was shown before.
    pub preliminary: Option<Value>,
}

impl Progress {
    /// Creates a report without a message and a preliminary output.
    pub fn new(call_id: impl Into<String>, done: f64, total: Option<f64>) -> Self {
        Self { call_id: call_id.into(), done, total, message: None, preliminary: None }
    }
}

impl Context {
    /// Reports how far the tool has come; lost when nobody listens.
    ///
    /// Whoever listens is told at once, in this call: nothing is kept in between.
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(|| Some((done, total, Some(message.into()), None)));
    }

    /// Shows a preliminary output; lost when nobody listens, and then not even written. [`Context::preliminary_of`] checks
    /// its type.
    ///
    /// Whoever listens is told at once, in this call, and so nothing is kept in between. A tool that shows much waits for
    /// [`Context::room`] before it goes on.
    pub fn preliminary(&self, output: impl Serialize) {
        self.report(|| Some((0.0, None, None, Some(serde_json::to_value(output).ok()?))));
    }

    /// Shows a preliminary output of the tool `T`, which has the type of the final one.
    ///
    /// ```
    /// use tool_runtime::{Context, tool};
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Found {
    ///     pages: Vec<String>,
    /// }
    ///
    /// /// Searches the handbook.
    /// #[tool(effect = read_only)]
    /// async fn search(
    ///     /// The words to look for.
    ///     words: Vec<String>,
    ///     #[context] cx: &Context,
    /// ) -> Found {
    ///     let mut found = Found { pages: Vec::new() };
    ///     for word in words {
    ///         found.pages.push(format!("about {word}"));
    ///         cx.preliminary_of::<search>(&found);
    ///         cx.room().await;
    ///     }
    ///     found
    /// }
    /// ```
    pub fn preliminary_of<T: Tool<Output: Serialize>>(&self, output: &T::Output) {
        self.preliminary(output);
    }

    /// Waits until whoever is shown preliminary outputs has room for more. There is room where nobody says otherwise.
    pub async fn room(&self) {
        if let Some(room) = self.journal().and_then(|journal| journal.room()) {
            room.await;
        }
    }

    /// Shows a preliminary output that was written already, and waits for room.
    pub(super) async fn show(&self, output: &Output) {
        self.report(|| Some((0.0, None, None, Some(output.value()))));
        self.room().await;
    }

    fn report(&self, what: impl FnOnce() -> Option<(f64, Option<f64>, Option<String>, Option<Value>)>) {
        let (listener, journal) = (self.listener(), self.journal());
        if listener.is_none() && journal.is_none() {
            return;
        }
        let Some((done, total, message, preliminary)) = what() else { return };
        let progress = Progress { call_id: self.call_id().to_owned(), done, total, message, preliminary };
        match (listener, journal) {
            (Some(listener), _) => listener(progress),
            (None, Some(journal)) => journal.report(progress),
            (None, None) => {}
        }
    }
}

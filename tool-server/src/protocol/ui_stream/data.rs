//! Data of the application in a message, sent by a tool while it runs.

use std::{fmt, sync::Arc};

use serde_json::Value;

use super::{Chunk, Json, Level, frame};
use crate::protocol::Outbox;
use tool_runtime::tool::Context;

/// The message that shows a call's answer: a tool puts `data-*` parts into it. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Context;
/// use tool_server::protocol::ui_stream::DataParts;
///
/// // The body of a tool. Without a frontend of the AI SDK there is no message.
/// fn show(cx: &Context) {
///     if let Some(message) = DataParts::of(cx) {
///         message.put("weather", "oslo", json!({ "temperature": 21 })); // a part, replaced by the next of that id
///         message.notify("toast", json!("looked up")); // not kept in the message
///     }
/// }
/// # show(&Context::new("call_1"));
/// ```
#[derive(Clone)]
pub struct DataParts {
    outbox: Arc<Outbox<Vec<DataPart>>>,
}

struct DataPart {
    name: String,
    id: Option<String>,
    data: Value,
    is_transient: bool,
}

impl DataParts {
    /// Returns a message without parts.
    pub fn new() -> Self {
        Self { outbox: Arc::new(Outbox::new(Vec::new())) }
    }

    /// Returns the message behind a call; `None` where no frontend of the AI SDK asked for the run.
    pub fn of(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// Adds the part `data-<name>`, or replaces the one of this name and id.
    pub fn put(&self, name: impl Into<String>, id: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: Some(id.into()), data, is_transient: false });
    }

    /// Sends the frontend data that is not kept in the message.
    pub fn notify(&self, name: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: None, data, is_transient: true });
    }

    /// Sets the function that is called when there is something to send. Only the first call has an effect.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.outbox.on_change(wake);
    }

    fn add(&self, part: DataPart) {
        let mut parts = self.outbox.lock();
        parts.push(part);
        self.outbox.wake(parts);
    }

    /// Writes the parts that were added since the last call.
    pub(super) fn write(&self, level: Level, out: &mut Vec<u8>) {
        for DataPart { name, id, data, is_transient } in std::mem::take(&mut *self.outbox.lock()) {
            let transient = is_transient.then_some(true);
            frame(&Chunk::Data { name: &name, id: id.as_deref(), data: Json::Value(&data), transient }, level, out);
        }
    }
}

impl Default for DataParts {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DataParts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DataParts")
    }
}

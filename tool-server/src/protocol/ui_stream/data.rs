//! Data of the application in a message, sent by a tool while it runs.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use serde_json::Value;

use super::{Chunk, Json, Level, frame};
use tool_runtime::tool::Context;

/// The message that a call's answer is shown in: a tool puts `data-*` parts into it. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Context;
/// use tool_server::protocol::ui_stream::DataParts;
///
/// // The body of a tool. Without a frontend of the AI SDK there is nobody to tell.
/// fn show(cx: &Context) {
///     if let Some(message) = DataParts::of(cx) {
///         message.put("weather", "oslo", json!({ "temperature": 21 })); // a part, replaced by the next of that id
///         message.notify("toast", json!("looked up")); // not kept in the message
///     }
/// }
/// # show(&Context::new("call_1"));
/// ```
#[derive(Clone, Default)]
pub struct DataParts {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    parts: Mutex<Vec<DataPart>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct DataPart {
    name: String,
    id: Option<String>,
    data: Value,
    is_transient: bool,
}

impl DataParts {
    /// Nothing is sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The message behind a call; `None` where the run was not asked for by a frontend of the AI SDK.
    pub fn of(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// Adds the part `data-<name>`, or replaces the one of this name and id.
    pub fn put(&self, name: impl Into<String>, id: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: Some(id.into()), data, is_transient: false });
    }

    /// Tells the frontend something that is not kept in the message.
    pub fn notify(&self, name: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: None, data, is_transient: true });
    }

    /// Sets what is called when there is something to send. Only the first counts.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.inner.wake.set(Box::new(wake));
    }

    fn add(&self, part: DataPart) {
        self.parts(|parts| parts.push(part));
        if let Some(wake) = self.inner.wake.get() {
            wake();
        }
    }

    /// Writes what was sent since.
    pub(super) fn write(&self, level: Level, out: &mut Vec<u8>) {
        for DataPart { name, id, data, is_transient } in self.parts(std::mem::take) {
            let transient = is_transient.then_some(true);
            frame(&Chunk::Data { name: &name, id: id.as_deref(), data: Json::Value(&data), transient }, level, out);
        }
    }

    fn parts<T>(&self, change: impl FnOnce(&mut Vec<DataPart>) -> T) -> T {
        change(&mut self.inner.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for DataParts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DataParts")
    }
}

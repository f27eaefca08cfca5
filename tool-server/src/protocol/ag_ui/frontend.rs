//! The frontend of a run, for its tools: its request, and the state that it shares.

use std::{fmt, sync::Arc};

use serde_json::Value;

use super::event::Event;
use super::input::{ClientTool, ContextEntry, RunInput};
use crate::protocol::Outbox;
use tool_runtime::tool::Context;

/// The frontend that requested a run over AG-UI. A tool gets it from its context. It is cheap to clone.
///
/// Both sides share the state: the frontend sends its state with each run, and tools change it while they run.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_runtime::{Context, Failure};
/// use tool_server::protocol::ag_ui::Frontend;
///
/// // The body of a tool.
/// fn add_ingredient(name: &str, cx: &Context) -> Result<usize, Failure> {
///     let frontend = Frontend::of(cx).ok_or_else(|| Failure::new("this needs a frontend"))?;
///     frontend.update(|state| {
///         if !state["ingredients"].is_array() {
///             state["ingredients"] = json!([]);
///         }
///         let ingredients = state["ingredients"].as_array_mut().into_iter().next();
///         ingredients.map_or(0, |all| {
///             all.push(name.into());
///             all.len()
///         })
///     })
///     .map_err(|error| Failure::new(error.to_string()))
/// }
/// # let _ = add_ingredient;
/// ```
#[derive(Clone)]
pub struct Frontend {
    inner: Arc<Inner>,
}

struct Inner {
    input: RunInput,
    outbox: Outbox<Shared>,
}

struct Shared {
    state: Value,
    updates: Vec<Update>,
}

/// An update for the frontend.
enum Update {
    Snapshot(Value),
    Delta(Value),
    Custom(String, Value),
}

/// The error for a change of the state that cannot be made.
#[derive(Clone, Debug)]
pub struct StateError(Arc<dyn std::error::Error + Send + Sync>);

impl Frontend {
    /// Creates the frontend of the request `input`.
    pub fn new(input: RunInput) -> Self {
        let outbox = Outbox::new(Shared { state: input.state.clone(), updates: Vec::new() });
        Self { inner: Arc::new(Inner { input, outbox }) }
    }

    /// Returns the frontend of a call, or `None` if no frontend requested the run.
    pub fn of(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// Returns the request, with the state as the frontend sent it. The request is an unverified claim: use it as context, not to
    /// decide about permissions.
    pub fn input(&self) -> &RunInput {
        &self.inner.input
    }

    /// Returns the frontend's context for the model.
    pub fn context(&self) -> &[ContextEntry] {
        &self.inner.input.context
    }

    /// Returns the values that the frontend passes on to tools.
    pub fn forwarded_props(&self) -> Option<&Value> {
        self.inner.input.forwarded_props.as_ref()
    }

    /// Returns the tools that the frontend executes.
    pub fn tools(&self) -> &[ClientTool] {
        &self.inner.input.tools
    }

    /// Returns the state as it is now.
    pub fn state(&self) -> Value {
        self.inner.outbox.lock().state.clone()
    }

    /// Replaces the state, and sends the frontend all of it.
    pub fn set(&self, state: Value) {
        let mut shared = self.inner.outbox.lock();
        shared.state = state.clone();
        shared.updates.push(Update::Snapshot(state));
        self.inner.outbox.wake(shared);
    }

    /// Changes the state, and sends the frontend the difference. `change` must not block, and must not use the frontend.
    ///
    /// Fails when the difference cannot be written. Then the state does not change.
    pub fn update<T>(&self, change: impl FnOnce(&mut Value) -> T) -> Result<T, StateError> {
        let mut shared = self.inner.outbox.lock();
        let mut state = shared.state.clone();
        let changed = change(&mut state);
        let patch = json_patch::diff(&shared.state, &state);
        if !patch.0.is_empty() {
            let patch = serde_json::to_value(&patch).map_err(|error| StateError(Arc::new(error)))?;
            shared.state = state;
            shared.updates.push(Update::Delta(patch));
            self.inner.outbox.wake(shared);
        }
        Ok(changed)
    }

    /// Applies a JSON Patch (RFC 6902) to the state, and sends the frontend the patch.
    ///
    /// Fails when `patch` is not a JSON Patch, or does not fit the state. Then the state does not change.
    pub fn patch(&self, patch: &Value) -> Result<(), StateError> {
        let parsed: json_patch::Patch =
            serde_json::from_value(patch.clone()).map_err(|error| StateError(Arc::new(error)))?;
        let mut shared = self.inner.outbox.lock();
        let mut state = shared.state.clone();
        json_patch::patch(&mut state, &parsed).map_err(|error| StateError(Arc::new(error)))?;
        shared.state = state;
        shared.updates.push(Update::Delta(patch.clone()));
        self.inner.outbox.wake(shared);
        Ok(())
    }

    /// Sends the frontend an application-specific event.
    pub fn custom(&self, name: impl Into<String>, value: Value) {
        let mut shared = self.inner.outbox.lock();
        shared.updates.push(Update::Custom(name.into(), value));
        self.inner.outbox.wake(shared);
    }

    /// Sets the function to call when there is something to send. Only the first call has an effect.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.inner.outbox.on_change(wake);
    }

    /// Writes the state as the frontend sent it, for a client that does not have it.
    pub(crate) fn write_state(&self, out: &mut Vec<u8>) {
        Event::StateSnapshot { snapshot: &self.inner.input.state }.write(out);
    }

    /// Writes the updates since the last call.
    pub(super) fn write_updates(&self, out: &mut Vec<u8>) {
        for update in std::mem::take(&mut self.inner.outbox.lock().updates) {
            match &update {
                Update::Snapshot(snapshot) => Event::StateSnapshot { snapshot }.write(out),
                Update::Delta(delta) => Event::StateDelta { delta }.write(out),
                Update::Custom(name, value) => Event::Custom { name, value }.write(out),
            }
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the state cannot be changed like this: {}", self.0)
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source() // the text has that of the error inside
    }
}

impl fmt::Debug for Frontend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Frontend")
            .field("thread_id", &self.inner.input.thread_id)
            .field("run_id", &self.inner.input.run_id)
            .finish_non_exhaustive()
    }
}

//! The frontend behind a run, as tools know it: what it sent along, and the state that it shares.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde_json::Value;

use super::event::Event;
use super::input::{ClientTool, ContextEntry, RunInput};
use tool_runtime::tool::Context;

/// The frontend that a run of AG-UI was asked for by. Cheap to clone; a tool has it from its context.
///
/// The state belongs to both sides: the frontend sends its own with each run, and tools change it while they run.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_runtime::{Context, Failure};
/// use tool_server::protocol::ag_ui::Frontend;
///
/// // The body of a tool.
/// fn add_ingredient(name: &str, cx: &Context) -> Result<usize, Failure> {
///     let frontend = Frontend::of(cx).ok_or_else(|| Failure::told("this needs a frontend"))?;
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
///     .map_err(|error| Failure::told(error.to_string()))
/// }
/// # let _ = add_ingredient;
/// ```
#[derive(Clone)]
pub struct Frontend {
    inner: Arc<Inner>,
}

struct Inner {
    input: RunInput,
    shared: Mutex<Shared>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct Shared {
    state: Value,
    changes: Vec<Change>,
}

/// Something that the frontend is to be told.
enum Change {
    Snapshot(Value),
    Delta(Value),
    Custom(String, Value),
}

/// A change of the state that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateError(String);

impl Frontend {
    /// The frontend that asked for `input`.
    pub fn new(input: RunInput) -> Self {
        let shared = Mutex::new(Shared { state: input.state.clone(), changes: Vec::new() });
        Self { inner: Arc::new(Inner { input, shared, wake: OnceLock::new() }) }
    }

    /// The frontend behind a call; `None` where the run was not asked for by one.
    pub fn of(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// What it asked for, with the state as it was then. A claim: for grounding, not for decisions about what is allowed.
    pub fn input(&self) -> &RunInput {
        &self.inner.input
    }

    /// What the application wants the model to know.
    pub fn context(&self) -> &[ContextEntry] {
        &self.inner.input.context
    }

    /// Whatever the application passes on.
    pub fn forwarded_props(&self) -> Option<&Value> {
        self.inner.input.forwarded_props.as_ref()
    }

    /// The tools that the frontend executes.
    pub fn tools(&self) -> &[ClientTool] {
        &self.inner.input.tools
    }

    /// The state as it is now.
    pub fn state(&self) -> Value {
        self.shared().state.clone()
    }

    /// Replaces the state, and tells the frontend all of it.
    pub fn set(&self, state: Value) {
        let mut shared = self.shared();
        shared.state = state.clone();
        shared.changes.push(Change::Snapshot(state));
        self.wake(shared);
    }

    /// Changes the state, and tells the frontend what is different. `change` must not block, and not use the frontend.
    ///
    /// Fails when the difference cannot be written; then the state is as before.
    pub fn update<T>(&self, change: impl FnOnce(&mut Value) -> T) -> Result<T, StateError> {
        let mut shared = self.shared();
        let mut state = shared.state.clone();
        let changed = change(&mut state);
        let patch = json_patch::diff(&shared.state, &state);
        if !patch.0.is_empty() {
            let patch = serde_json::to_value(&patch).map_err(|error| StateError(error.to_string()))?;
            shared.state = state;
            shared.changes.push(Change::Delta(patch));
            self.wake(shared);
        }
        Ok(changed)
    }

    /// Changes the state by a JSON Patch (RFC 6902), and sends the frontend that patch.
    ///
    /// Fails when it is none, or does not fit the state; then the state is as before.
    pub fn patch(&self, patch: &Value) -> Result<(), StateError> {
        let parsed: json_patch::Patch = serde_json::from_value(patch.clone())
            .map_err(|error| StateError(format!("this is no JSON Patch: {error}")))?;
        let mut shared = self.shared();
        let mut state = shared.state.clone();
        json_patch::patch(&mut state, &parsed).map_err(|error| StateError(error.to_string()))?;
        shared.state = state;
        shared.changes.push(Change::Delta(patch.clone()));
        self.wake(shared);
        Ok(())
    }

    /// Sends the frontend an event of the application's own.
    pub fn custom(&self, name: impl Into<String>, value: Value) {
        let mut shared = self.shared();
        shared.changes.push(Change::Custom(name.into(), value));
        self.wake(shared);
    }

    /// Sets what is called when there is something to tell. Only the first counts.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.inner.wake.set(Box::new(wake));
    }

    /// Tells what has changed since.
    pub(super) fn write_changes(&self, out: &mut Vec<u8>) {
        for change in std::mem::take(&mut self.shared().changes) {
            match &change {
                Change::Snapshot(snapshot) => Event::StateSnapshot { snapshot }.write(out),
                Change::Delta(delta) => Event::StateDelta { delta }.write(out),
                Change::Custom(name, value) => Event::Custom { name, value }.write(out),
            }
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.inner.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, shared: MutexGuard<'_, Shared>) {
        // Whoever is woken reads the changes.
        drop(shared);
        if let Some(wake) = self.inner.wake.get() {
            wake();
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the state cannot be changed like this: {}", self.0)
    }
}

impl std::error::Error for StateError {}

impl fmt::Debug for Frontend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Frontend")
            .field("thread_id", &self.inner.input.thread_id)
            .field("run_id", &self.inner.input.run_id)
            .finish_non_exhaustive()
    }
}

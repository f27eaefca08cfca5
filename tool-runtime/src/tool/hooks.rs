//! Hooks: code that receives a call's arguments while the model writes them, and when they are accepted.

use std::{fmt, future::ready};

use futures_util::future::BoxFuture;

use super::Context;
use crate::json::IncrementalJson;

/// Hooks around the arguments of calls.
///
/// `#[tool(on_input_start = …, on_input_delta = …, on_input_available = …)]` declares typed hooks of one tool.
/// [`RuntimeToolBuilder::hooks`](crate::toolset::RuntimeToolBuilder::hooks) sets those of a run-time tool, and
/// `Agent::input_hooks` sets hooks for all tools.
///
/// An agent calls them for each call in the order start, delta (as often as more arrives), available. It does not matter how many
/// calls the model writes side by side.
///
/// The model's stream waits for the first two hooks, and so do the calls of that stream; other running calls continue. Nothing
/// waits for the third, except for its code up to the first `await`, which finishes before the call can run, be approved, or be
/// sent to a client. It also ends after ten seconds.
///
/// A hook cannot stop the run. After a panic or ten seconds in one of the first two, no start or delta hook runs again for that
/// call, whichever `InputHooks` it belongs to. The third still runs. Before the third hook, the arguments are only a claim of the
/// model: nothing has checked them, and the call may never run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no hooks around the arguments of calls",
    label = "`InputHooks` is not implemented",
    note = "implement `InputHooks` for it; all of its methods have a default"
)]
pub trait InputHooks: Send + Sync {
    /// Returns whether [`delta`](Self::delta) does anything. Without such hooks, no incomplete arguments are parsed.
    fn wants_deltas(&self) -> bool {
        true
    }

    /// Runs when the model begins a call of the tool `tool`.
    fn start<'a>(&'a self, tool: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        let _ = (tool, cx);
        Box::pin(ready(()))
    }

    /// Runs when more of the arguments has arrived: `delta`. The arguments so far are in `input`.
    fn delta<'a>(
        &'a self,
        tool: &'a str,
        input: &'a IncrementalJson,
        delta: &'a str,
        cx: &'a Context,
    ) -> BoxFuture<'a, ()> {
        let _ = (tool, input, delta, cx);
        Box::pin(ready(()))
    }

    /// Runs when the tool has accepted `arguments`, a JSON object. Runs again when the operator of this
    /// process, or [`Session::decide`](crate::agent::Session::decide) without a store, has replaced them.
    fn available<'a>(&'a self, tool: &'a str, arguments: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        let _ = (tool, arguments, cx);
        Box::pin(ready(()))
    }
}

impl fmt::Debug for dyn InputHooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("InputHooks")
    }
}

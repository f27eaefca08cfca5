//! What tests ask about the tools: how often each ran, and how often it was given up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    http::StatusCode,
    routing::{get, post},
};
use serde::Serialize;

/// How often tools ran, and were given up, since the last reset.
#[derive(Default)]
pub(crate) struct Counters(Mutex<Counts>);

#[derive(Clone, Default, Serialize)]
struct Counts {
    executions: BTreeMap<&'static str, u32>,
    aborted: BTreeMap<&'static str, u32>,
}

impl Counters {
    pub(crate) fn ran(&self, tool: &'static str) {
        self.change(|counts| *counts.executions.entry(tool).or_default() += 1);
    }

    pub(crate) fn aborted(&self, tool: &'static str) {
        self.change(|counts| *counts.aborted.entry(tool).or_default() += 1);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(crate) fn routes(counters: Arc<Counters>) -> Router {
    let reset = Arc::clone(&counters);
    Router::new().route("/probe/counters", get(async move || Json(counters.change(|counts| counts.clone())))).route(
        "/probe/reset",
        post(async move || {
            reset.change(std::mem::take);
            StatusCode::NO_CONTENT
        }),
    )
}

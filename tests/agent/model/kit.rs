//! Shared helpers: a few tools, models whose streams are scripted, and an observer.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use serde_json::json;
use tool_runtime::{
    Toolset,
    agent::{Event, Observer},
    model::{Delta, FunctionModel, ModelError, ModelErrorKind, Turn, Usage},
    tool, toolset,
};

/// The number of runs of all tools.
#[derive(Default)]
pub(crate) struct Runs(pub(crate) AtomicUsize);

/// Adds one.
#[tool(effect = read_only, eager)]
pub(crate) fn add(n: i64, #[state] runs: &Runs) -> i64 {
    runs.0.fetch_add(1, Ordering::SeqCst);
    n + 1
}

/// Reports that the work is done.
#[tool]
pub(crate) fn done(#[state] runs: &Runs) {
    runs.0.fetch_add(1, Ordering::SeqCst);
}

/// Sleeps for an hour.
#[tool(effect = read_only)]
pub(crate) async fn sleep(#[state] runs: &Runs) {
    runs.0.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_hours(1)).await;
}

/// Needs an approval.
#[tool(approval = always)]
pub(crate) fn pay(#[state] runs: &Runs) {
    runs.0.fetch_add(1, Ordering::SeqCst);
}

pub(crate) fn tools(runs: &Arc<Runs>) -> Toolset {
    toolset!(Arc::clone(runs); add, done, sleep, pay)
}

pub(crate) fn count(runs: &Runs) -> usize {
    runs.0.load(Ordering::SeqCst)
}

pub(crate) fn call(n: i64) -> Turn {
    Turn::call("add", json!({ "n": n })).with_usage(usage(10, 5))
}

pub(crate) fn usage(input: u64, output: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
}

pub(crate) fn unavailable() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "down")
}

/// An item of a scripted stream: a delta, a failure or a pause.
pub(crate) enum Piece {
    Delta(Delta),
    Failure(ModelErrorKind),
    Pause(Duration),
}

/// Returns a model whose answer to request number n, from 1, is `pieces(n)`.
pub(crate) fn streaming(pieces: impl Fn(usize) -> Vec<Piece> + Send + Sync + 'static) -> FunctionModel {
    let requests = AtomicUsize::new(0);
    FunctionModel::streaming(move |_| {
        let pieces = pieces(requests.fetch_add(1, Ordering::SeqCst) + 1);
        futures_util::stream::iter(pieces).filter_map(|piece| async {
            match piece {
                Piece::Delta(delta) => Some(Ok(delta)),
                Piece::Failure(kind) => Some(Err(ModelError::new(kind, "it failed"))),
                Piece::Pause(time) => {
                    tokio::time::sleep(time).await;
                    None
                }
            }
        })
    })
}

/// Returns the deltas of a turn, with an id for each call.
pub(crate) fn pieces_of(turn: Turn) -> Vec<Piece> {
    let named = |delta| match delta {
        Delta::CallStart { index, name, .. } => Delta::CallStart { index, id: format!("id_{index}"), name },
        other => other,
    };
    turn.into_deltas().into_iter().map(|delta| Piece::Delta(named(delta))).collect()
}

/// An observer that records events of steps.
#[derive(Default)]
pub(crate) struct Listener(Mutex<Vec<String>>);

impl Listener {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Listener {
    fn on_event(&self, event: Event<'_>) {
        let line = match event {
            Event::StepStarted { step } => format!("step {step}"),
            Event::ModelAsked { model, failures } => format!("asked {model} after {failures}"),
            Event::TurnFailed { error, again } => format!("failed{}: {error}", if again { ", again" } else { "" }),
            Event::TurnEnded { reason, .. } => format!("finished: {reason:?}"),
            Event::PartDescribed { part, model, .. } => format!("described to {model}: {}", part.in_words()),
            Event::ChoiceIgnored(choice) => format!("ignored: {choice:?}"),
            Event::Prompted(prompt) => format!("prompted: {}", prompt.content[0].as_text().unwrap_or_default()),
            Event::PromptQueued(prompt) => format!("queued: {}", prompt.content[0].as_text().unwrap_or_default()),
            Event::PromptRefused(refusal) => format!("refused: {refusal}"),
            Event::ProviderPart(part) => format!("provider's {:?}: {}", part.kind, part.name),
            Event::CallEnded { call, result, .. } => {
                format!("{}: {}", call.name, result.for_people(&call.name, call.extent()))
            }
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

//! Tools whose effects are lines of a file, and a model that calls them.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, Context, Failure, Message,
    agent::Decision,
    agent::Suspend,
    model::{FunctionModel, Turn},
    run::{Interrupt, InterruptKind},
    store::Store,
    tool, toolset,
};

use crate::kills::point::{PointObserver, PointedStore, pass_point};

/// The effects of tools, in a file that outlives their process.
pub(crate) struct Effects(PathBuf);

impl Effects {
    pub(crate) fn of(dir: &Path) -> Self {
        Self(dir.join("effects"))
    }

    fn record(&self, tool: &str, n: u32, cx: &Context) {
        pass_point();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{tool} {n} {}\n", cx.call_id()).as_bytes()).unwrap();
        file.sync_data().unwrap();
        pass_point();
    }

    /// Returns all effects, oldest first: the tool, its number and its call.
    pub(crate) fn all(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn count(&self, tool: &str, n: &serde_json::Value, call: &str) -> usize {
        let line = format!("{tool} {n} {call}");
        self.all().iter().filter(|effect| **effect == line).count()
    }
}

/// Pays, with an approval. It must not run twice.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /** The amount. */
    n: u32,
    #[state] effects: &Effects,
    #[context] cx: &Context,
) -> u32 {
    effects.record("pay", n, cx);
    n
}

/// Adds a line. It must not run twice.
#[tool]
async fn add(
    /** The amount. */
    n: u32,
    #[state] effects: &Effects,
    #[context] cx: &Context,
) -> u32 {
    effects.record("add", n, cx);
    n
}

/// Adds a line. It may run twice.
#[tool(idempotent)]
async fn set(
    /** The amount. */
    n: u32,
    #[state] effects: &Effects,
    #[context] cx: &Context,
) -> u32 {
    effects.record("set", n, cx);
    n
}

/// Adds a line after a recorded step. The rest may run twice.
#[tool(idempotent)]
async fn steps(n: Number, #[state] effects: &Effects, #[context] cx: &Context) -> Result<u32, Failure> {
    step(n.0, effects, cx).await?;
    effects.record("steps", n.0, cx);
    Ok(n.0)
}

/// Asks in the middle of its work. It must not run twice.
#[tool]
async fn ask(n: Number, #[state] effects: &Effects, #[context] cx: &Context) -> Result<u32, Failure> {
    step(n.0, effects, cx).await?;
    let _: String = cx.ask("Which word?").await?;
    cx.request_approval("Go on?").await?;
    effects.record("ask", n.0, cx);
    Ok(n.0)
}

/// Records each part of its work as a step, so it may be started again between the steps.
#[tool(resumable)]
async fn keeps(n: Number, #[state] effects: &Effects, #[context] cx: &Context) -> Result<u32, Failure> {
    step(n.0, effects, cx).await?;
    pass_point();
    let work = async {
        effects.record("keeps", n.0, cx);
        Ok::<_, Failure>(n.0)
    };
    cx.step("last", work).await
}

async fn step(n: u32, effects: &Effects, cx: &Context) -> Result<(), Failure> {
    let work = async {
        effects.record("step", n, cx);
        Ok::<_, Failure>(n)
    };
    cx.step("first", work).await.map(drop)
}

/// The number of the call.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number(u32);

/// Is executed outside of the agent.
#[tool(external, output = u32)]
struct Elsewhere {
    /// The amount.
    n: u32,
}

/// The calls of a model: a list for each turn.
pub(crate) type Script = &'static [&'static [&'static str]];

pub(crate) const SCRIPTS: [Script; 5] = [
    &[&["pay"], &["set", "add"], &["steps", "Elsewhere"], &["ask"]],
    &[&["pay", "set", "add", "Elsewhere", "pay", "steps", "ask", "pay"]],
    &[&["add", "ask", "Elsewhere"], &["pay", "pay", "steps", "ask"], &["add", "set"]],
    // More entries than the interval between two snapshots.
    &[&["set"; 20], &["add", "pay"], &["set"; 20], &["steps", "add", "Elsewhere"]],
    &[&["keeps", "pay"], &["keeps", "keeps", "set"]],
];

/// Returns the number of a call, which is unique in a script.
pub(crate) fn number(turn: usize, index: usize) -> usize {
    turn * 100 + index
}

/// Returns a model whose turn depends on the number of its earlier turns.
fn model(script: Script) -> FunctionModel {
    FunctionModel::new(move |request| {
        pass_point();
        let turn = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let Some(calls) = script.get(turn) else { return Turn::say("done") };
        let call =
            |answer: Turn, (index, name): (usize, &&str)| answer.then_call(*name, json!({"n": number(turn, index)}));
        calls.iter().enumerate().fold(Turn::say("well"), call)
    })
}

pub(crate) fn agent(store: Arc<dyn Store>, dir: &Path, script: Script) -> Agent {
    Agent::new(model(script))
        .tools(toolset!(Effects::of(dir); pay, add, set, steps, keeps, ask, Elsewhere))
        .observer(PointObserver)
        .operator(Suspend)
        .store(PointedStore(store))
        .lease_time(Duration::from_millis(60))
}

/// A person who always decides in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// Allows everything, and checks the outcome of lost calls.
    Careful,
    /// Also edits and denies, and checks the outcome of lost calls.
    Picky,
    /// Denies lost calls without checking the outcome.
    Lazy,
}

impl Person {
    pub(crate) fn decide(self, open: &Interrupt, effects: &Effects) -> Decision {
        let n = &open.shown.arguments["n"];
        match &open.kind {
            InterruptKind::Approval { .. } if self == Self::Picky => match n.as_u64().unwrap() % 3 {
                0 => Decision::deny("no"),
                1 => Decision::Edit { arguments: json!({"n": n.as_u64().unwrap() + 50}) },
                _ => Decision::Approve,
            },
            InterruptKind::Question { question } if question.schema.is_some() => {
                Decision::Answer { value: json!("word") }
            }
            InterruptKind::External => Decision::Respond { output: n.clone() },
            InterruptKind::Reconcile if self == Self::Lazy => Decision::deny("unchecked"),
            InterruptKind::Reconcile if effects.count(&open.shown.tool, n, open.id.call().as_str()) > 0 => {
                Decision::Respond { output: n.clone() }
            }
            _ => Decision::Approve,
        }
    }
}

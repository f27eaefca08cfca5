//! Tools, and their effects in a file that outlives the processes.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tool_runtime::{Context, Toolset, tool, toolset};

use crate::model::Step;

/// The file of effects: a line for each.
pub(super) struct World(PathBuf);

impl World {
    pub(super) fn of(dir: &Path) -> Self {
        Self(dir.join("effects"))
    }

    fn note(&self, effect: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{effect}\n").as_bytes()).unwrap();
    }

    pub(super) fn effects(&self) -> Vec<String> {
        fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub(super) fn count(&self, effect: &str) -> usize {
        self.effects().iter().filter(|known| *known == effect).count()
    }

    /// Waits until an effect has happened.
    pub(super) async fn wait_for(&self, effect: &str) {
        while self.count(effect) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub(super) fn tools(dir: &Path) -> Toolset {
    toolset!(World::of(dir); pay, add, set, work, whoami)
}

/// Pay. Needs an approval, and must not run twice.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /// The amount.
    n: u64,
    #[state] world: &World,
) -> u64 {
    world.note(&format!("pay {n}"));
    n
}

/// Add. Must not run twice, and takes a while.
#[tool]
async fn add(
    /// The amount.
    n: u64,
    #[state] world: &World,
) -> u64 {
    world.note(&format!("add {n}"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.note(&format!("added {n}"));
    n
}

/// Set. May run twice.
#[tool(idempotent)]
async fn set(
    /// The amount.
    n: u64,
    #[state] world: &World,
) -> u64 {
    world.note(&format!("set {n}"));
    n
}

/// Work until the effect `go` has happened. May run twice.
#[tool(effect = read_only)]
async fn work(
    /// The number of the call.
    n: u64,
    #[state] world: &World,
) -> &'static str {
    world.note(&format!("work {n}"));
    world.wait_for(&format!("go {n}")).await;
    "worked"
}

/// Returns the principal of the call.
#[tool(effect = read_only)]
fn whoami(
    /// The number of the call.
    n: u64,
    #[context] cx: &Context,
) -> String {
    let _ = n;
    cx.principal().unwrap_or("nobody").to_owned()
}

impl World {
    /// Lets the call of `work` with this number end.
    pub(super) fn go(&self, n: u64) {
        self.note(&format!("go {n}"));
    }
}

/// Returns the steps of a turn that writes `text` and makes calls with these numbers.
pub(super) fn turn(text: &str, calls: &[(&str, u64)]) -> Vec<Step> {
    let mut steps: Vec<Step> = text.split_inclusive(' ').map(|word| Step::Text(word.to_owned())).collect();
    for (index, (tool, n)) in calls.iter().enumerate() {
        steps.push(Step::Call((*tool).to_owned()));
        steps.push(Step::Arguments(index, format!("{{\"n\":{n}}}")));
        steps.push(Step::End(index));
    }
    steps
}

pub(super) fn script(turns: &[Vec<Step>]) -> String {
    serde_json::to_string(turns).unwrap()
}

//! The commands of the program.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::{Parser, Subcommand};
use serde_json::Value;
use tool_runtime::run::{InterruptId, RunId};

/// Refunds that wait for somebody, over several runs of a program.
#[derive(Parser)]
#[command(name = "approvals")]
pub(crate) struct Cli {
    /// Who you are. Who started a run decides in it.
    #[arg(long = "as", global = true, env = "APPROVALS_USER", default_value = "clerk", value_name = "NAME")]
    pub(crate) user: String,
    /// Where runs are kept, and the shop's ledger beside them [default: in your state folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Says something to the desk, as in: ask "refund 40 euros for order A102".
    Ask {
        #[arg(required = true)]
        text: Vec<String>,
        /// In this run, instead of a new one.
        #[arg(long)]
        run: Option<String>,
    },
    /// Lists what waits for you.
    List {
        /// What waits for others, too.
        #[arg(long)]
        all: bool,
    },
    /// Shows what waits, as it will run.
    Show { id: Id },
    /// Allows it.
    Approve { id: Id },
    /// Allows it with other arguments: all of them, as a JSON object.
    Edit {
        id: Id,
        #[arg(value_parser = json)]
        arguments: Value,
    },
    /// Forbids it; the model receives the reason.
    Deny { id: Id, reason: Vec<String> },
    /// Gives its output, as JSON, in place of the tool: it was done, or need not be.
    Respond {
        id: Id,
        #[arg(value_parser = json)]
        output: Value,
    },
    /// Goes on with a run; without one, with all that can go on.
    Resume { run: Option<String> },
}

/// What waits: the run's id, a slash, and the id in it.
#[derive(Clone)]
pub(crate) struct Id {
    pub(crate) run: String,
    pub(crate) interrupt: InterruptId,
}

impl Id {
    pub(crate) fn of(run: &RunId, interrupt: &InterruptId) -> Self {
        Self { run: run.to_string(), interrupt: interrupt.clone() }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.run, self.interrupt)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').filter(|(run, _)| !run.is_empty());
        let parts = parts.and_then(|(run, rest)| Some((run.to_owned(), rest.parse().ok()?)));
        let (run, interrupt) = parts.ok_or("an id looks like RUN/CALL.1; `list` shows those that wait")?;
        Ok(Self { run, interrupt })
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))
}

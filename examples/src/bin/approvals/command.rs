//! The commands of the program.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::Value;
use tool_runtime::run::{InterruptId, RunId};

/// Refunds that wait for a person's decision, across several processes.
#[derive(Parser)]
#[command(name = "approvals")]
pub(crate) struct Cli {
    /// Your name. The person who started a run decides about its calls.
    #[arg(long = "as", global = true, env = "APPROVALS_USER", default_value = "clerk", value_name = "NAME")]
    pub(crate) user: String,
    /// The file of the runs, with the shop's ledger beside it [default: in your state folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// The store or engine of the runs [default: the file, or PostgreSQL if `DATABASE_URL` names a server].
    #[arg(long, global = true, value_name = "PLACE")]
    pub(crate) on: Option<On>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A store or engine that keeps the runs.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum On {
    /// A Restate server. Needs the feature `restate`.
    Restate,
    /// A Temporal server. Needs the feature `temporal`.
    Temporal,
    /// The database of `DATABASE_URL`.
    Postgres,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Send the desk a message, such as: ask "refund 40 euros for order A102".
    Ask {
        #[arg(required = true)]
        text: Vec<String>,
        /// The run that gets the message, in place of a new one.
        #[arg(long)]
        run: Option<String>,
    },
    /// List the calls that wait for your decision.
    List {
        /// List those that wait for others, too.
        #[arg(long)]
        all: bool,
    },
    /// Show a waiting call with its arguments.
    Show { id: Id },
    /// Approve a call.
    Approve { id: Id },
    /// Approve a call with other arguments: all of them, as a JSON object.
    Edit {
        id: Id,
        #[arg(value_parser = json)]
        arguments: Value,
    },
    /// Deny a call. The model receives the reason.
    Deny { id: Id, reason: Vec<String> },
    /// Set the output of a call, as JSON. The tool does not run.
    Respond {
        id: Id,
        #[arg(value_parser = json)]
        output: Value,
    },
    /// Continue a run, or all runs that can continue.
    Resume { run: Option<String> },
    /// Drive runs until Ctrl-C: each continues as soon as somebody has decided.
    Serve,
}

/// The id of an interrupt, as people write it: the run's id, a slash, and the interrupt's id in that run.
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
        let (run, interrupt) =
            parts.ok_or("expected an id of the form RUN/CALL.1; `list` shows the ids of waiting calls")?;
        Ok(Self { run, interrupt })
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))
}

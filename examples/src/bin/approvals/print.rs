//! Prints calls that wait, for a person.

use chrono::DateTime;
use tool_runtime::{
    AgentError,
    feedback::one_line,
    run::{Interrupt, InterruptKind, Refusal, Run, Timestamp},
    store::{StoreError, WaitingItem},
};

use crate::command::Id;

/// The number of calls that a store returns by default.
const MAX_SHOWN: usize = 100;

/// Prints calls that wait, a line each. Texts of a model are escaped.
pub(crate) fn print_waiting(items: &[WaitingItem], user: &str, all: bool) {
    if items.is_empty() {
        println!("nothing waits{}", if all { String::new() } else { format!(" for {}", one_line(user)) });
    }
    for item in items {
        let owner = one_line(item.owner.as_str());
        println!(
            "{}  {}  {owner}  {}",
            Id::of(&item.run, &item.interrupt.id),
            format_time(item.interrupt.opened_at),
            question(&item.interrupt)
        );
    }
    if items.len() == MAX_SHOWN {
        println!("these are the oldest {MAX_SHOWN}; decide about some to see the next");
    }
}

/// Prints an interrupt with all the arguments that the call will use.
pub(crate) fn print_interrupt(run: &Run, open: &Interrupt) {
    println!("{}", question(open));
    if matches!(open.kind, InterruptKind::Reconcile) {
        println!("It was started, and the process that ran it is gone. Look into the ledger, then:");
        println!("`respond` if it was done, `approve` to start it again, `deny` to leave it.");
    }
    println!("tool:    {} ({:?})", open.shown.title.as_deref().unwrap_or(&open.shown.tool), open.shown.effect);
    for (name, value) in &open.shown.lines {
        println!("  {name}: {value}");
    }
    println!("asked by {} at {}", one_line(run.owner().as_str()), format_time(open.opened_at));
}

/// Returns a text about a refused decision: the reason, and what to do.
pub(crate) fn explain_refusal(error: &AgentError, id: &Id, user: &str) -> String {
    match error {
        AgentError::Store(StoreError::NotFound) => format!("there is no run {}; `list` shows what waits", id.run),
        AgentError::Refused(Refusal::Unknown { .. }) => {
            format!("there is no interrupt {id}; `list` shows what waits")
        }
        AgentError::Refused(Refusal::Forbidden) => {
            format!("{} may not decide here; only who started the run may (`--as NAME`)", one_line(user))
        }
        AgentError::Refused(Refusal::Conflict { .. } | Refusal::Closed { .. }) => {
            format!("too late, nothing was changed: {error}")
        }
        AgentError::Refused(Refusal::Invalid { feedback }) => {
            let lines = feedback.lines().into_iter().map(|line| format!("\n  ! {}", one_line(&line)));
            format!("the decision was refused, and the call still waits:{}", lines.collect::<String>())
        }
        other => other.to_string(),
    }
}

fn question(open: &Interrupt) -> String {
    let asked = open.shown.challenge.clone().unwrap_or_else(|| {
        let values = open.shown.lines.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}{}", open.shown.tool, values.collect::<String>())
    });
    if matches!(open.kind, InterruptKind::Reconcile) { format!("what happened? {asked}") } else { asked }
}

fn format_time(time: Timestamp) -> String {
    let time = i64::try_from(time.0).ok().and_then(DateTime::from_timestamp_millis);
    time.map(|time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string()).unwrap_or_default()
}

//! Refunds that wait for an approval while the program ends and starts again.
//!
//! ```sh
//! alias approvals='cargo run -q -p examples --bin approvals --'
//! approvals ask "refund 40 euros for order A102"   # a call waits; the program ends
//! approvals list                                   # in another process
//! approvals approve RUN/CALL.1
//! approvals resume                                 # the money moves
//! ```
//!
//! The runs are in a SQLite file, or in PostgreSQL if `DATABASE_URL` names a server. With an engine, one serving process drives the
//! runs; all others ask and decide:
//!
//! ```sh
//! scripts/engine restate bash                      # a shell with a server; or `temporal`, in all of these lines
//! approvals() { cargo run -q -p examples --features restate --bin approvals -- --on restate "$@"; }
//! approvals serve &
//! approvals ask "refund 40 euros for order A102"
//! approvals approve RUN/CALL.1                     # the money moves
//! ```

mod command;
mod desk;
mod print;
mod storage;

use std::{process::ExitCode, time::Duration};

use clap::Parser as _;
use tool_runtime::{
    Agent, AgentError,
    agent::{Decision, Session, Suspend},
    run::{InterruptId, RunId},
    store::{StoreError, WaitingFilter},
};
use tool_terminal::Terminal;

use command::{Cli, Command, Id};
use storage::Storage;

const INSTRUCTIONS: &str = "You are the desk of a small shop. Look an order up before you pay money back.";

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<(), String> {
    let storage = Storage::open(cli.on, cli.store).await?;
    let agent = Agent::new(examples::model())
        .tools(desk::tools(storage.ledger.clone()))
        .instructions(INSTRUCTIONS)
        .principal(&cli.user)
        // The terminal only shows the run: decisions come from other processes.
        .observer(Terminal::with(std::io::empty(), std::io::stdout()))
        .operator(Suspend)
        .store(storage.store.clone())
        // The time after which another process may take over the run of a dead one.
        .lease_time(Duration::from_secs(5));
    let user = cli.user.as_str();
    match cli.command {
        Command::Ask { text, run } => {
            let mut session = match run {
                Some(run) => open(&agent, &run).await?,
                None => agent.session(),
            };
            let reply = session.send(text.join(" ")).await;
            ended(&session, reply.map(drop))
        }
        Command::List { all } => {
            let filter = if all { WaitingFilter::new() } else { WaitingFilter::new().for_principal(user) };
            print::print_waiting(&agent.waiting(&filter).await.map_err(|error| error.to_string())?, user, all);
            Ok(())
        }
        Command::Show { id } => {
            let (run, interrupt) = find(&agent, &id).await?;
            let session = open(&agent, run.as_str()).await?;
            let open = session.run().interrupt(&interrupt);
            print::print_interrupt(
                session.run(),
                open.ok_or_else(|| format!("{id} does not wait; `list` shows what does"))?,
            );
            Ok(())
        }
        Command::Approve { id } => decide(&agent, &id, Decision::Approve, user).await,
        Command::Edit { id, arguments } => decide(&agent, &id, Decision::Edit { arguments }, user).await,
        Command::Deny { id, reason } => {
            let reason = Some(reason.join(" ")).filter(|reason| !reason.is_empty());
            decide(&agent, &id, Decision::Deny { reason }, user).await
        }
        Command::Respond { id, output } => decide(&agent, &id, Decision::Respond { output }, user).await,
        Command::Resume { run: Some(run) } => {
            let mut session = open(&agent, &run).await?;
            let reply = session.resume().await;
            ended(&session, reply.map(drop))
        }
        Command::Resume { run: None } => {
            let count = agent.sweep().await.map_err(|error| error.to_string())?;
            println!("\n{count} {} taken up", if count == 1 { "run was" } else { "runs were" });
            Ok(())
        }
        Command::Serve => {
            tracing_subscriber::fmt::init();
            storage.serve(agent).await
        }
    }
}

/// Prints the state in which the program leaves a run.
fn ended(session: &Session, came: Result<(), AgentError>) -> Result<(), String> {
    came.map_err(|error| match error {
        AgentError::Store(StoreError::Leased { .. }) => {
            "another process drives this run, or died less than five seconds ago; try again in a moment".to_owned()
        }
        other => other.to_string(),
    })?;
    println!("\nrun {}", session.id());
    for open in session.interrupts() {
        println!("waits for a decision: {}", Id::of(session.id(), &open.id));
    }
    Ok(())
}

async fn decide(agent: &Agent, id: &Id, decision: Decision, user: &str) -> Result<(), String> {
    let (run, interrupt) = find(agent, id).await?;
    agent.decide(&run, &interrupt, decision, user).await.map_err(|error| print::explain_refusal(&error, id, user))?;
    println!("decided; `resume {run}` goes on");
    Ok(())
}

/// Returns the ids in `id`. The beginning of a run's id is enough while something in the run waits. Fails if several runs fit.
async fn find(agent: &Agent, id: &Id) -> Result<(RunId, InterruptId), String> {
    let waiting = agent.waiting(&WaitingFilter::new()).await.map_err(|error| error.to_string())?;
    let mut runs: Vec<RunId> = waiting.into_iter().map(|item| item.run).collect();
    runs.retain(|run| run.as_str().starts_with(&id.run));
    runs.dedup();
    match &runs[..] {
        [run] => Ok((run.clone(), id.interrupt.clone())),
        [] => Ok((id.run.as_str().into(), id.interrupt.clone())),
        _ => Err(format!("{id} could be in {} runs; write more of the run's id", runs.len())),
    }
}

async fn open(agent: &Agent, run: &str) -> Result<Session, String> {
    agent.open(&run.into()).await.map_err(|error| match error {
        AgentError::Store(StoreError::NotFound) => format!("there is no run {run}; `list` shows those that wait"),
        other => other.to_string(),
    })
}

#[cfg(test)]
tool_test_kit::toolset_tests!("approvals", desk::tools("/nowhere".into()));

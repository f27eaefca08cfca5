//! Helpers of these tests: agents, tools that record their effects, and shortcuts.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tool_runtime::{
    Agent, AgentError, Failure, Message, Toolset,
    agent::{Event, Observer, Reply, Session, Suspend},
    message::AssistantPart,
    model::{ScriptedModel, ScriptedTurn, Turn},
    run::{CallResult, Interrupt, Refusal, RunId},
    store::{Store, WaitingFilter},
    tool, toolset,
};

pub(crate) use crate::backends::{store, stores};
pub(crate) use tool_runtime::test::{Events, Person};

use crate::backends;

/// Selects the backend of an agent's runs. It is the last change of the agent, because an engine drives the runs with a copy.
pub(crate) trait OnBackend {
    /// Returns the agent with its runs in `store`.
    fn on(self, store: &Arc<dyn Store>) -> Agent;

    /// Returns the agent with its runs on any backend.
    fn anywhere(self) -> Agent;
}

impl OnBackend for Agent {
    fn on(self, store: &Arc<dyn Store>) -> Agent {
        backends::on(self, store)
    }

    fn anywhere(self) -> Agent {
        backends::anywhere(self)
    }
}

/// An observer of nothing.
pub(crate) struct SilentObserver;

impl Observer for SilentObserver {
    fn on_event(&self, _: Event<'_>) {}
}

/// The recorded effects of tools.
#[derive(Debug, Default)]
pub(crate) struct Effects(Mutex<Vec<String>>);

impl Effects {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn record(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the effects sorted, for calls that run at once: their tasks may start in any order.
    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut sorted = self.all();
        sorted.sort();
        sorted
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|did| *did == what).count()
    }
}

/// Pays.
#[tool(approval = always, effect = destructive, challenge = "pay {amount} to {to}?")]
pub(crate) async fn pay(
    /// The amount.
    #[arg(range(1..=100))]
    amount: i64,
    /// To whom.
    #[arg(default = "Ann".to_owned())]
    to: String,
    #[state] effects: &Effects,
) -> String {
    effects.record(format!("pay {amount} to {to}"));
    format!("paid {amount}")
}

/// Writes a note.
#[tool]
pub(crate) async fn note(
    /// The text.
    text: String,
    #[state] effects: &Effects,
) -> usize {
    effects.record(format!("note {text}"));
    text.len()
}

/// Looks something up.
#[tool(effect = read_only)]
pub(crate) async fn look(
    /// The item.
    what: String,
    #[state] effects: &Effects,
) -> Result<String, Failure> {
    effects.record(format!("look {what}"));
    if what == "nothing" {
        Err(Failure::new("there is nothing").source("the database at 10.0.0.7 is empty"))
    } else {
        Ok(what)
    }
}

pub(crate) fn tools(effects: &Arc<Effects>) -> Toolset {
    toolset!(Arc::clone(effects); pay, note, look)
}

/// Returns an agent without an operator: calls wait.
pub(crate) fn agent<A: Into<ScriptedTurn>>(
    store: &Arc<dyn Store>,
    tools: Toolset,
    turns: impl IntoIterator<Item = A>,
) -> Agent {
    Agent::new(ScriptedModel::new(turns)).tools(tools).observer(Events::new()).operator(Suspend).on(store)
}

/// Returns whether an engine drives the runs of `store`. An engine does not look at a waiting run before an entry is added to it.
pub(crate) fn is_engine(store: &Arc<dyn Store>) -> bool {
    store.keeper(&RunId::from("any")).is_some()
}

/// Returns a turn with a payment of each amount.
pub(crate) fn payments(amounts: &[i64]) -> Turn {
    amounts.iter().fold(Turn::default(), |turn, amount| turn.then_call("pay", format!("{{\"amount\":{amount}}}")))
}

/// Starts a run that waits for the approval of `turn`'s calls. Returns its agent, its id and its interrupts.
pub(crate) async fn start_waiting(
    store: &Arc<dyn Store>,
    tools: Toolset,
    turn: Turn,
) -> (Agent, RunId, Vec<Interrupt>) {
    let agent = agent(store, tools, [turn, Turn::say("done")]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let open = session.interrupts().cloned().collect();
    (agent, session.id().clone(), open)
}

/// Returns the open interrupts of a run, from the store.
pub(crate) async fn open_interrupts(agent: &Agent, id: &RunId) -> Vec<Interrupt> {
    let items = agent.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap();
    items.into_iter().map(|item| item.interrupt).collect()
}

/// Continues a run, as another process would.
pub(crate) async fn resume(agent: &Agent, id: &RunId) -> Session {
    let mut session = agent.open(id).await.unwrap();
    session.resume().await.unwrap();
    session
}

/// Sends a prompt to a run whose operator answers at once. On an engine, the service has the operator, and a session that
/// follows returns when it sees the run wait.
pub(crate) async fn send_and_resume(session: &mut Session, prompt: &str) -> Reply {
    session.send(prompt).await.unwrap();
    session.resume().await.unwrap()
}

/// Returns the results of a run's calls, in order.
pub(crate) fn call_results(session: &Session) -> Vec<CallResult> {
    session.run().calls().iter().filter_map(|call| call.result().cloned()).collect()
}

/// Returns the texts of a run's tool messages, in order.
pub(crate) fn tool_results(session: &Session) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::Tool(answer) => Some(answer.content.iter().filter_map(|part| part.as_text()).collect::<String>()),
        _ => None,
    };
    session.messages().iter().filter_map(text).collect()
}

/// Returns the reason why a decision was refused.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, AgentError>) -> Refusal {
    match result {
        Err(AgentError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Returns `turn` with the same id for all calls.
pub(crate) fn under_one_id(mut turn: Turn, id: &str) -> Turn {
    for part in &mut turn.content {
        if let AssistantPart::Call(call) = part {
            call.id = id.to_owned();
        }
    }
    turn
}

pub(crate) async fn sleep_millis(count: u64) {
    tokio::time::sleep(Duration::from_millis(count)).await;
}

/// Waits until a condition holds. Panics if that takes too long.
pub(crate) async fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        sleep_millis(10).await;
    }
    panic!("the condition did not hold within half a minute");
}

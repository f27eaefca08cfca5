//! Tests of agents that each caller has: its tools, its instructions and its values, in every process that continues its runs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tool_runtime::{
    Agent, AgentError, Context, Failure, Toolset,
    agent::{Caller, MAX_CLAIMS_BYTES, Suspend},
    message::Message,
    model::{FunctionModel, ScriptedModel, Turn},
    run::{CallResult, Decision, InterruptId, Phase, RunId},
    store::{MemoryStore, Store},
    tool, toolset,
};

/// The value that the application finds for a caller.
#[derive(Clone, Debug, PartialEq)]
struct Account(u32);

/// Looks.
#[tool(effect = read_only)]
fn look(#[context] cx: &Context) -> String {
    let account = cx.get::<Account>().map_or(0, |account| account.0);
    format!("{} {account} {}", cx.principal().unwrap_or("nobody"), cx.claims())
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(
    /** The amount. */
    amount: u32,
    #[context] cx: &Context,
) -> String {
    format!("{amount} of {}", cx.get::<Account>().map_or(0, |account| account.0))
}

/// Returns a model that calls the tool of the prompt, and then says which tools it sees.
fn model() -> FunctionModel {
    FunctionModel::new(|request| match request.messages.last() {
        Some(Message::User { content }) => {
            let name = content[0].as_text().unwrap();
            let arguments = if name == "pay" { json!({ "amount": 5 }) } else { json!({}) };
            Turn::call(name, arguments)
        }
        last => {
            let tools: Vec<&str> = request.tools.specs().iter().map(|tool| tool.name.as_str()).collect();
            let result = match last {
                Some(Message::Tool(result)) => result.content.iter().filter_map(|part| part.as_text()).collect(),
                _ => String::new(),
            };
            let instructions = match request.messages.first() {
                Some(Message::System { text }) => text.clone(),
                _ => String::new(),
            };
            Turn::say(format!("{instructions}|{}|{result}", tools.join(",")))
        }
    })
}

/// Returns an agent that gives clerks `pay`, and everybody `look`. It notes whom it was asked for.
fn desk(asked: &Arc<Mutex<Vec<Caller>>>) -> Agent {
    let (asked, all, some) = (Arc::clone(asked), toolset!(look, pay), toolset!(look));
    Agent::new(model()).operator(Suspend).for_each_caller(move |agent, caller| {
        asked.lock().unwrap().push(caller.clone());
        let tools: Toolset = if caller.claims["role"] == "clerk" { all.clone() } else { some.clone() };
        async move {
            let account = Account(u32::try_from(caller.principal.as_str().len()).unwrap());
            let text = format!("For {}.", caller.principal);
            Ok(agent.tools(tools).instructions(text).edit_context(|cx| cx.with(account)))
        }
    })
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Returns whether the first call of a run has succeeded.
async fn has_paid(store: &Arc<dyn Store>, id: &RunId) -> bool {
    let run = store.load(id).await.unwrap().unwrap().rebuild().unwrap();
    run.calls()[0].result().is_some_and(CallResult::is_success)
}

/// Begins a run of ann whose call waits. Returns the run and the interrupt.
async fn begin_payment(desk: &Agent) -> (RunId, InterruptId) {
    let mut session = desk.for_caller(clerk("ann")).await.unwrap().session();
    session.send("pay").await.unwrap();
    (session.id().clone(), session.interrupts().next().unwrap().id.clone())
}

fn clerk(name: &str) -> Caller {
    Caller::new(name).with_claims(json!({ "role": "clerk" }))
}

#[tokio::test]
async fn each_caller_has_its_own_agent() {
    let asked = Arc::default();
    let desk = desk(&asked);
    let ann = desk.for_caller(clerk("ann")).await.unwrap();
    let text = ann.run("look").await.unwrap().text;
    assert_eq!(text, r#"For ann.|look,pay|ann 3 {"role":"clerk"}"#);
    let text = desk.for_caller("benjamin").await.unwrap().run("look").await.unwrap().text;
    assert_eq!(text, "For benjamin.|look|benjamin 8 null");
    // A session asks by itself, once.
    asked.lock().unwrap().clear();
    let mut session = desk.clone().principal("eve").session();
    assert_eq!(session.send("look").await.unwrap().text, "For eve.|look|eve 3 null");
    assert_eq!(session.send("look").await.unwrap().text, "For eve.|look|eve 3 null");
    assert_eq!(asked.lock().unwrap().len(), 1);
    // A call of another caller's tool is one of a tool that does not exist.
    assert!(session.send("pay").await.unwrap().text.contains("pay"), "the model reads that there is no such tool");
    assert_eq!(session.run().phase(), Phase::Finished);
    assert!(session.run().calls().last().unwrap().result().is_some_and(|result| !result.is_success()));
    // A call without a conversation is of the caller, too.
    let found = desk.for_caller(clerk("ann")).await.unwrap().call("look", "{}").await.unwrap();
    let tool_runtime::agent::CallOutcome::Ended(ended) = found else { panic!("it waits") };
    assert_eq!(ended.result.output().unwrap().text(), r#"ann 3 {"role":"clerk"}"#);
}

#[tokio::test]
async fn each_step_is_prepared_with_the_caller() {
    let seen = Arc::<Mutex<Vec<Value>>>::default();
    let (noted, asked) = (Arc::clone(&seen), Arc::default());
    let desk = desk(&asked).prepare_step(move |step| {
        let cx = step.context();
        noted.lock().unwrap().push(json!([cx.principal(), cx.claims(), cx.get::<Account>().unwrap().0]));
    });
    desk.for_caller(clerk("ann")).await.unwrap().run("look").await.unwrap();
    let one = json!(["ann", { "role": "clerk" }, 3]);
    assert_eq!(*seen.lock().unwrap(), [one.clone(), one]);
}

/// The claims are in the log, so a process that knows only the store makes the same agent.
#[tokio::test]
async fn another_process_continues_with_the_agent_of_the_owner() {
    let (store, asked) = (store(), Arc::default());
    let here = desk(&asked).store(store.clone());
    let mut session = here.for_caller(clerk("ann")).await.unwrap().session();
    assert_eq!(session.send("pay").await.unwrap().phase, Phase::Suspended);
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    assert_eq!(session.run().claims().map(|claims| (**claims).clone()), Some(json!({ "role": "clerk" })));
    drop(session);
    asked.lock().unwrap().clear();
    // Another process, whose agent acts for nobody.
    let there = desk(&asked).store(store.clone());
    there.decide(&id, &open, Decision::Approve, "ann").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [clerk("ann")]);
    assert!(there.resume_run(&id).await.unwrap());
    assert!(has_paid(&store, &id).await);
    let session = there.open_for_owner(&id).await.unwrap();
    assert_eq!(session.agent().caller(), clerk("ann"));
    assert!(session.run().last_text().ends_with("|5 of 3"), "{}", session.run().last_text());
    // Neither a snapshot nor a branch loses the claims.
    let run = session.run();
    let thawed = tool_runtime::run::Run::thaw(&run.freeze()).unwrap();
    assert_eq!(thawed.claims(), run.claims());
    let branched = session.agent().branch("another", run, 0);
    assert_eq!(branched.run().claims(), run.claims());
}

/// The last prompt's claims hold, and a prompt with the same claims does not repeat them in the log.
#[tokio::test]
async fn a_prompt_brings_new_claims() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).store(store.clone());
    let mut session = desk.for_caller(clerk("ann")).await.unwrap().session();
    session.send("look").await.unwrap();
    session.send("look").await.unwrap();
    let id = session.id().clone();
    let records = store.read(&id, 0).await.unwrap();
    let log: String = records.iter().map(|record| record.text.as_str()).collect();
    assert_eq!(log.matches(r#""claims":"#).count(), 1, "{log}");
    // The caller is no clerk any more.
    let mut session = desk.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    session.send("look").await.unwrap();
    assert_eq!(session.run().claims().map(|claims| (**claims).clone()), Some(Value::Null));
    assert!(!desk.open_for_owner(&id).await.unwrap().agent().toolset().iter().any(|tool| tool.name() == "pay"));
}

/// A call whose tool the caller has lost never starts: a worker leaves it alone, and the owner's next request ends it.
#[tokio::test]
async fn a_waiting_call_ends_with_the_rights_to_its_tool() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).store(store.clone());
    let mut session = desk.for_caller(clerk("ann")).await.unwrap().session();
    session.send("pay").await.unwrap();
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    session.decide(&open, Decision::Approve, "ann").await.unwrap();
    drop(session);
    let without = Agent::new(model())
        .operator(Suspend)
        .store(store.clone())
        .for_each_caller(|agent, _| async { Ok(agent.tools(toolset!(look))) });
    assert!(!without.resume_run(&id).await.unwrap(), "a worker may have an old list of rights");
    let mut session = without.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    assert!(!session.run().calls()[0].result().unwrap().is_success());
}

/// A list of tools that changes does not lose a call that waits: it still waits for its decision, and runs once its tool is there.
#[tokio::test]
async fn a_changed_list_keeps_what_waits() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).store(store.clone());
    let mut session = desk.for_caller(clerk("ann")).await.unwrap().session();
    session.send("pay").await.unwrap();
    let id = session.id().clone();
    drop(session);
    let other = Agent::new(model())
        .operator(Suspend)
        .store(store.clone())
        .for_each_caller(|agent, _| async { Ok(agent.tools(toolset!(pay))) });
    let session = other.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    let open = session.interrupts().next().expect("it waits").id.clone();
    other.decide(&id, &open, Decision::Approve, "ann").await.unwrap();
    assert!(other.resume_run(&id).await.unwrap());
    assert!(has_paid(&store, &id).await);
}

#[tokio::test(start_paused = true)]
async fn without_the_agent_of_the_caller_nothing_happens() {
    type Make = fn(Agent) -> futures_util::future::BoxFuture<'static, Result<Agent, Failure>>;
    let makes: [(Make, &str); 4] = [
        (|_| Box::pin(async { Err(Failure::new("no database")) }), "no database"),
        (|_| panic!("a bug"), "the function panicked"),
        (|_| Box::pin(async { panic!("a bug") }), "the function panicked"),
        (|_| Box::pin(std::future::pending()), "the function took longer than 10 s"),
    ];
    for (make, problem) in makes {
        let store = store();
        let agent = Agent::new(ScriptedModel::new([Turn::say("It was asked.")])).store(store.clone());
        let mut stored = agent.session();
        let id = stored.id().clone();
        stored.add_message(Message::user("Hi"), "a test").await.unwrap();
        let agent = agent.for_each_caller(move |agent, _| make(agent));
        let is_problem = |failed: AgentError| {
            matches!(&failed, AgentError::Caller { reason } if reason == problem)
                && failed.to_string().contains(problem)
        };
        assert!(is_problem(agent.for_caller("ann").await.unwrap_err()));
        let mut session = agent.session();
        assert!(is_problem(session.send("Hello").await.unwrap_err()));
        assert!(is_problem(session.resume().await.unwrap_err()));
        assert!(is_problem(session.follow().await.unwrap_err()));
        assert!(is_problem(session.run_pending_calls().await.unwrap_err()));
        assert!(is_problem(session.ask("Hello").typed::<u8>().await.unwrap_err()));
        assert!(is_problem(session.call("look", "{}").await.unwrap_err()));
        assert!(is_problem(session.send_until("Hello", std::future::pending()).await.unwrap_err()));
        assert!(session.messages().is_empty());
        // The name of the application's own runs is known without the function.
        assert!(agent.load_run(&id).await.is_ok());
        assert!(matches!(agent.resume_run(&id).await, Err(AgentError::Caller { .. })));
        // Everybody can stop what goes on.
        agent.open(&id).await.unwrap().cancel().await.unwrap();
    }
}

/// The function cannot take a run to another place, or let it act for somebody else.
#[tokio::test]
async fn the_place_and_the_principal_of_a_run_stay() {
    let (own, other) = (store(), store());
    let taken = other.clone();
    let agent = Agent::tools_only(toolset!(look)).name("desk").store(own.clone()).for_each_caller(move |_, _| {
        let agent = Agent::new(model()).tools(toolset!(look)).name("other").store(taken.clone()).principal("root");
        async { Ok(agent.edit_context(|cx| cx.with_claims(json!("all")))) }
    });
    let mut session = agent.for_caller(clerk("ann")).await.unwrap().session();
    let call = session.call("look", "{}").await.unwrap();
    assert_eq!(call.result().unwrap().output().unwrap().text(), r#"ann 0 {"role":"clerk"}"#);
    let run = session.run();
    assert_eq!((run.owner().as_str(), run.made_by()), ("ann", Some("desk")));
    assert!(own.load(run.id()).await.unwrap().is_some());
    assert!(other.load(run.id()).await.unwrap().is_none());
    // The agent has no model, so a failed call ends the run.
    session.call("look", r#"{"wrong": 1}"#).await.unwrap();
    assert_eq!(session.run().last_text(), "", "no model was asked");
}

#[tokio::test]
async fn claims_are_small() {
    let agent = Agent::new(model()).tools(toolset!(look));
    let of_size = |bytes: usize| Caller::new("ann").with_claims("x".repeat(bytes - 2));
    agent.for_caller(of_size(MAX_CLAIMS_BYTES)).await.unwrap().run("look").await.unwrap();
    let Err(AgentError::Caller { reason }) = agent.for_caller(of_size(MAX_CLAIMS_BYTES + 1)).await else {
        panic!("it was accepted")
    };
    assert!(reason.contains("4097 bytes"), "{reason}");
    let large = agent.edit_context(|cx| cx.with_claims(Value::from("x".repeat(MAX_CLAIMS_BYTES))));
    assert!(matches!(large.run("look").await, Err(AgentError::Caller { .. })));
}

/// An agent inside of another has the caller of the run around it, if it asks.
#[tokio::test]
async fn an_inner_agent_asks_for_the_same_caller() {
    let asked = Arc::default();
    let inner = desk(&asked).as_tool("expert", "Asks an expert.").output::<String>().unwrap();
    assert!(inner_spec_is_careful(&inner));
    let turns = [Turn::call("expert", json!({ "task": "look" })), Turn::say("done")];
    let outer = Agent::new(ScriptedModel::new(turns)).tools(Toolset::new().with(inner).unwrap());
    let outer = outer.for_caller(clerk("ann")).await.unwrap();
    let mut session = outer.session();
    session.send("go").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [clerk("ann")]);
    // An agent that does not ask gets nothing but the principal and its claims, or also the values, if it shares the context.
    let expert = |agent: Agent| agent.tools(toolset!(look)).as_tool("expert", "Asks an expert.");
    let with_own = || Agent::new(model()).edit_context(|cx| cx.with(Account(8)));
    let inner = [
        (expert(Agent::new(model())), 0),
        (expert(Agent::new(model())).share_context(), 7),
        (expert(with_own()).share_context(), 8),
    ];
    for (inner, account) in inner {
        let turns = [Turn::call("expert", json!({ "task": "look" })), Turn::say("done")];
        let outer = Agent::new(ScriptedModel::new(turns)).tools(Toolset::new().with(inner).unwrap());
        let outer = outer.for_each_caller(|agent, _| async { Ok(agent.edit_context(|cx| cx.with(Account(7)))) });
        let mut session = outer.for_caller(clerk("ann")).await.unwrap().session();
        session.send("go").await.unwrap();
        let text = session.run().calls()[0].result().unwrap().output().unwrap().text();
        assert!(text.ends_with(&format!(r#"|ann {account} {{"role":"clerk"}}"#)), "{text}");
    }
}

/// The tools of the caller are not known when the tool is declared, so it may write, and is not trusted.
fn inner_spec_is_careful(tool: &tool_runtime::agent::AgentTool) -> bool {
    use tool_runtime::tool::ErasedTool as _;
    let options = &tool.spec().options;
    options.untrusted && options.effect != tool_runtime::Effect::ReadOnly
}

/// Another person's decision is checked with the tools of the run's owner.
#[tokio::test]
async fn a_decision_is_checked_with_the_owners_agent() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).deciders(|_, _| vec!["boss".into()]).store(store.clone());
    let (id, open) = begin_payment(&desk).await;
    asked.lock().unwrap().clear();
    let edit = Decision::Edit { arguments: json!({ "amount": 4 }) };
    desk.clone().principal("boss").decide(&id, &open, edit, "boss").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [clerk("ann")]);
}

#[tokio::test]
async fn a_typed_answer_is_there_for_each_caller() {
    let answer = ScriptedModel::new([Turn::call("final_answer", json!({ "answer": 7 }))]);
    let agent = Agent::new(answer).for_each_caller(|agent, _| async { Ok(agent.tools(toolset!(look))) });
    assert_eq!(agent.ask("A number, please.").typed::<u8>().await.unwrap().value, 7);
}

/// An authenticated caller without claims has none, whatever the run has.
#[tokio::test]
async fn claims_that_are_gone_do_not_come_back() {
    let store = store();
    let agent = Agent::new(model()).tools(toolset!(look)).store(Arc::clone(&store));
    let mut session = agent.for_caller(clerk("ann")).await.unwrap().session();
    session.send("look").await.unwrap();
    let id = session.id().clone();
    // Of a process without a caller, they are those of the run.
    let mut opened = agent.open_for_owner(&id).await.unwrap();
    assert!(opened.send("look").await.unwrap().text.ends_with(r#"ann 0 {"role":"clerk"}"#));
    let mut opened = agent.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    assert!(opened.send("look").await.unwrap().text.ends_with("ann 0 null"));
    let mut opened = agent.open_for_owner(&id).await.unwrap();
    assert!(opened.send("look").await.unwrap().text.ends_with("ann 0 null"));
}

/// A session that was opened before another one brought new claims brings its own back with its prompt.
#[tokio::test]
async fn each_prompt_counts_with_its_own_claims() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).store(Arc::clone(&store));
    let mut first = desk.for_caller(clerk("ann")).await.unwrap().session();
    first.send("look").await.unwrap();
    let id = first.id().clone();
    let mut second = desk.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    second.send("look").await.unwrap();
    first.send("look").await.unwrap();
    assert_eq!(desk.open_for_owner(&id).await.unwrap().agent().caller(), clerk("ann"));
}

#[tokio::test]
async fn the_limits_of_a_caller_hold_for_its_runs() {
    let calls = FunctionModel::new(|_| Turn::call("look", json!({})));
    let agent = Agent::new(calls).tools(toolset!(look)).for_each_caller(|agent, caller| async move {
        Ok(if caller.claims.is_null() { agent.max_steps(2) } else { agent.max_steps(4) })
    });
    assert_eq!(agent.run("go").await.unwrap().steps, 2);
    assert_eq!(agent.for_caller(clerk("ann")).await.unwrap().run("go").await.unwrap().steps, 4);
}

/// The agent of one caller does not act in the run of another.
#[tokio::test]
async fn an_agent_of_a_caller_lends_its_tools_to_nobody() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).deciders(|_, _| vec!["boss".into()]).store(Arc::clone(&store));
    let (id, open) = begin_payment(&desk).await;
    let boss = desk.for_caller("boss").await.unwrap();
    asked.lock().unwrap().clear();
    boss.decide(&id, &open, Decision::Edit { arguments: json!({ "amount": 3 }) }, "boss").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [clerk("ann")]);
    assert!(boss.resume_run(&id).await.unwrap());
    assert!(has_paid(&store, &id).await);
    let text = boss.open_for_owner(&id).await.unwrap().run().last_text();
    assert!(text.starts_with("For ann.|look,pay|") && text.ends_with("3 of 3"), "{text}");
}

/// A worker asks again after the rights have come back, and not about the runs of other applications.
#[tokio::test]
async fn a_worker_asks_again_and_only_about_its_own_runs() {
    let (store, asked) = (store(), Arc::default());
    let desk = desk(&asked).store(Arc::clone(&store));
    let mut session = desk.for_caller(clerk("ann")).await.unwrap().session();
    session.send("pay").await.unwrap();
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    session.decide(&open, Decision::Approve, "ann").await.unwrap();
    drop(session);
    let has_rights = Arc::new(AtomicUsize::new(0));
    let rights = Arc::clone(&has_rights);
    let worker = Agent::new(model()).operator(Suspend).store(Arc::clone(&store)).for_each_caller(move |agent, _| {
        let tools = if rights.load(Ordering::SeqCst) > 0 { toolset!(look, pay) } else { toolset!(look) };
        async { Ok(agent.tools(tools)) }
    });
    assert!(!worker.resume_run(&id).await.unwrap());
    has_rights.store(1, Ordering::SeqCst);
    assert!(worker.resume_run(&id).await.unwrap());
    asked.lock().unwrap().clear();
    assert!(!desk.name("other").resume_run(&id).await.unwrap());
    assert_eq!(*asked.lock().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_session_can_be_stopped_while_it_asks() {
    let agent = Agent::new(model()).for_each_caller(|_, _| std::future::pending());
    let stop = tokio::time::sleep(std::time::Duration::from_millis(1));
    assert!(matches!(agent.session().send_until("Hi", stop).await, Err(AgentError::Cancelled)));
    let signal = tool_runtime::Cancellation::new();
    signal.cancel();
    let agent = agent.edit_context(|cx| cx.with_cancellation(signal));
    assert!(matches!(agent.run("Hi").await, Err(AgentError::Cancelled)));
}

//! Tests of secrets that a function provides when a call starts, and of calls that wait for one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context, Failure, Toolset, Validation,
    agent::{Caller, EventKind, Secret, Session, Suspend},
    model::{ScriptedModel, Turn},
    run::{CallResult, Decision, InterruptId, InterruptKind, OnPrompt, Phase, Refusal, Run},
    store::{MemoryStore, Store},
    test::{Events, Person, TestClock},
    tool,
    tool::Question,
    toolset,
    toolset::{Permission, PolicyCall},
};

/// The values that the application has, by principal and name, and the questions to it.
#[derive(Clone, Default)]
struct Vault {
    known: Arc<Mutex<BTreeMap<(String, String), String>>>,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Vault {
    fn put(&self, name: &str, value: &str) {
        self.known.lock().unwrap().insert(("ann".to_owned(), name.to_owned()), value.to_owned());
    }

    /// Returns the questions since the last call of this method.
    fn take_asked(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn serve(&self, agent: Agent) -> Agent {
        let vault = self.clone();
        agent.secrets(move |caller, name| {
            let key = (caller.principal.as_str().to_owned(), name);
            vault.asked.lock().unwrap().push(key.clone());
            let known = vault.known.lock().unwrap().get(&key).cloned();
            let missing = || Secret::missing("Sign in to GitHub.", Some("https://example.com/in".to_owned()));
            async move { Ok(known.map_or_else(missing, Secret::new)) }
        })
    }
}

fn key_of_ann() -> (String, String) {
    ("ann".to_owned(), "key".to_owned())
}

/// Posts with a key of the caller.
#[tool(effect = write)]
fn post(text: String, #[arg(secret)] key: String, #[state] posted: &AtomicUsize) -> String {
    posted.fetch_add(1, Ordering::SeqCst);
    format!("{text} {}", key.len())
}

/// Posts after an approval.
#[tool(approval = always)]
fn post_approved(text: String, #[arg(secret)] key: String, #[arg(secret)] region: Option<String>) -> String {
    format!("{text} {} {}", key.len(), region.is_some())
}

/// Posts to one of the places that exist.
#[tool]
fn post_to(#[dynamic(validate = is_place)] place: String, #[arg(secret)] key: String) -> String {
    format!("{place} {}", key.len())
}

fn is_place(place: Option<String>, _: PostToPlace<'_>) -> Validation<String> {
    match place {
        Some(place) if place == "here" => Validation::accept(place),
        _ => Validation::reject("there is no such place"),
    }
}

/// Looks.
#[tool(effect = read_only, untrusted)]
fn look() -> &'static str {
    "seen"
}

/// Fails with the key in its error.
#[tool]
fn leak(#[arg(secret)] key: String) -> Result<(), Failure> {
    Err(Failure::new("the post failed").source(format!("{key} is refused")))
}

struct Desk {
    store: Arc<dyn Store>,
    vault: Vault,
    posted: Arc<AtomicUsize>,
    events: Events,
}

impl Desk {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self { store, vault: Vault::default(), posted: Arc::default(), events: Events::new() }
    }

    /// Returns an agent of ann, as another process would make it.
    fn agent(&self, turns: impl IntoIterator<Item = Turn>) -> Agent {
        let tools = toolset!(Arc::clone(&self.posted); post, post_approved, post_to, look, leak);
        let agent = Agent::new(ScriptedModel::new(turns)).tools(tools).operator(Suspend).principal("ann");
        self.vault.serve(agent).observer(self.events.clone()).store(Arc::clone(&self.store))
    }

    /// Begins a run whose only call is one of `post`.
    async fn begin_post(&self) -> Session {
        let mut session = self.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")]).session();
        session.send("go").await.unwrap();
        session
    }

    fn posted(&self) -> usize {
        self.posted.load(Ordering::SeqCst)
    }
}

fn open_of(run: &Run) -> InterruptId {
    run.interrupts().next().expect("a call waits").id.clone()
}

/// Returns the texts of the results of all calls.
fn results(session: &Session) -> Vec<String> {
    let text = |result: &CallResult, call: &tool_runtime::run::Call| result.for_people(&call.name, call.extent());
    session.run().calls().iter().filter_map(|call| Some(text(call.result()?, call))).collect()
}

async fn approve(session: &mut Session) {
    let open = open_of(session.run());
    session.decide(&open, Decision::Approve, "ann").await.unwrap();
    session.resume().await.unwrap();
}

#[tokio::test]
async fn the_function_is_asked_once_when_a_call_starts() {
    let desk = Desk::new();
    desk.vault.put("key", "k-123");
    let session = desk.begin_post().await;
    assert_eq!((results(&session), desk.vault.take_asked()), (vec!["hi 5".to_owned()], vec![key_of_ann()]));
    // After the approval, and not before. An optional secret may be missing.
    let turns = [Turn::call("post_approved", json!({ "text": "hi" })), Turn::say("ok")];
    let mut session = desk.agent(turns).session();
    session.send("go").await.unwrap();
    assert_eq!((session.run().phase(), desk.vault.take_asked()), (Phase::Suspended, vec![]));
    // An edit is read without a secret, too.
    let edit = Decision::Edit { arguments: json!({ "text": "ho" }) };
    let open = open_of(session.run());
    session.decide(&open, edit, "ann").await.unwrap();
    assert_eq!(desk.vault.take_asked(), vec![]);
    session.resume().await.unwrap();
    assert_eq!(results(&session), ["ho 5 false"]);
    assert_eq!(desk.vault.take_asked(), [key_of_ann(), ("ann".to_owned(), "region".to_owned())]);
    // A value in the context wins.
    let turns = [Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")];
    let agent = desk.agent(turns).edit_context(|cx| cx.with_secret("key", "from the context"));
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!((results(&session), desk.vault.take_asked()), (vec!["hi 16".to_owned()], vec![]));
}

#[tokio::test]
async fn a_tool_with_validators_gets_its_secret() {
    let desk = Desk::new();
    desk.vault.put("key", "k-123");
    let turn = Turn::call("post_to", json!({ "place": "there" })).then_call("post_to", json!({ "place": "here" }));
    let mut session = desk.agent([turn, Turn::say("ok")]).session();
    session.send("go").await.unwrap();
    assert!(results(&session)[0].contains("no such place"));
    assert_eq!((results(&session)[1].as_str(), desk.vault.take_asked()), ("here 5", vec![key_of_ann()]));
}

/// The agent of a caller may have a function of its own, and it receives the claims.
#[tokio::test]
async fn the_agent_of_a_caller_has_its_own_function() {
    let desk = Desk::new();
    let turns = [Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")];
    let agent = desk.agent(turns).for_each_caller(|agent, _| async {
        Ok(agent.secrets(|caller, name| async move { Ok(Secret::new(format!("{}{name}", caller.claims["plan"]))) }))
    });
    let agent = agent.for_caller(Caller::new("ann").with_claims(json!({ "plan": 1 }))).await.unwrap();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!((results(&session), desk.vault.take_asked()), (vec!["hi 4".to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_tool_does_not_begin() {
    type Find = fn() -> futures_util::future::BoxFuture<'static, Result<Secret, Failure>>;
    let finds: [(Find, &str); 4] = [
        (|| Box::pin(async { Err(Failure::new("no database")) }), "no secret `key`: no database"),
        (|| panic!("a bug"), "the function panicked"),
        (|| Box::pin(async { panic!("a bug") }), "the function panicked"),
        (|| Box::pin(std::future::pending()), "the function took longer than 10 s"),
    ];
    for (find, problem) in finds {
        let desk = Desk::new();
        let turn = Turn::call("post", json!({ "text": "hi" })).then_call("look", json!({}));
        let agent = desk.agent([turn, Turn::say("ok")]).secrets(move |_, _| find());
        let mut session = agent.session();
        assert_eq!(session.send("go").await.unwrap().text, "ok");
        let text = "the tool did not begin, because something that it needs could not be had";
        assert_eq!((results(&session), desk.posted()), (vec![text.to_owned(), "seen".to_owned()], 0));
        let has_cause = |event: &EventKind| matches!(event, EventKind::CallEnded { detail: Some(detail), .. } if detail.contains(problem));
        assert!(desk.events.all().iter().any(has_cause), "{problem}: {:?}", desk.events.all());
        assert!(!serde_json::to_string(session.messages()).unwrap().contains("key"), "the model knows no secret");
    }
}

#[tokio::test]
async fn a_call_without_its_secret_waits_and_any_process_goes_on() {
    let desk = Desk::new();
    let turn = Turn::call("look", json!({})).then_call("post", json!({ "text": "hi" })).then_call("look", json!({}));
    let mut session = desk.agent([turn]).session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    assert_eq!(results(&session), ["seen", "seen"], "the calls beside it go on");
    let id = session.id().clone();
    drop(session);
    // Another process. The person claims to have signed in, and has not.
    let agent = desk.agent([Turn::say("ok")]);
    let mut session = agent.open(&id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Suspended);
    assert_eq!(desk.vault.take_asked(), [key_of_ann()], "without a decision, the function is not asked again");
    let InterruptKind::Question { question } = &session.interrupts().next().unwrap().kind else { panic!() };
    assert_eq!(question.for_people(), "Sign in to GitHub.\nhttps://example.com/in");
    assert_eq!(question.need.as_ref().unwrap().kind, "secret");
    assert_eq!(session.run().calls()[1].attempts, 0, "the tool has not begun");
    let open = open_of(session.run());
    let edited = session.decide(&open, Decision::Edit { arguments: json!({ "text": "ho" }) }, "ann").await;
    assert!(matches!(edited, Err(AgentError::Refused(Refusal::NotOffered { .. }))), "{edited:?}");
    let foreign = session.decide(&open, Decision::Approve, "eve").await;
    assert!(matches!(foreign, Err(AgentError::Refused(Refusal::Forbidden))), "{foreign:?}");
    approve(&mut session).await;
    assert_eq!((session.run().phase(), desk.vault.take_asked()), (Phase::Suspended, vec![key_of_ann()]));
    assert_ne!(open_of(session.run()), open);
    drop(session);
    // A snapshot keeps what waits.
    desk.vault.put("key", "k-123");
    let mut session = agent.open(&id).await.unwrap();
    session = agent.session_from_run(Run::thaw(&session.run().freeze()).unwrap());
    approve(&mut session).await;
    assert_eq!((session.run().phase(), desk.posted()), (Phase::Finished, 1));
    assert_eq!(results(&session), ["seen", "hi 5", "seen"]);
    assert_eq!(session.run().calls()[1].attempts, 1);
}

#[tokio::test]
async fn a_denial_ends_the_call_and_the_model_reads_the_reason() {
    for (decision, text) in [
        (
            Decision::deny("not now"),
            "the call was denied, and did not run: not now; it needs this first: Sign in to GitHub.",
        ),
        (
            Decision::Deny { reason: None },
            "the call was denied, and did not run: it needs this first: Sign in to GitHub.",
        ),
    ] {
        let desk = Desk::new();
        let mut session = desk.begin_post().await;
        let open = open_of(session.run());
        session.decide(&open, decision, "ann").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!((results(&session), desk.posted()), (vec![text.to_owned()], 0));
        assert_eq!(desk.vault.take_asked().len(), 1);
    }
    // Nobody can decide.
    let desk = Desk::new();
    let agent = desk.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")]);
    let mut session = agent.operator(tool_runtime::agent::DenyAll).session();
    assert_eq!(session.send("go").await.unwrap().text, "ok");
    assert!(results(&session)[0].ends_with("it needs this first: Sign in to GitHub."), "{:?}", results(&session));
}

#[tokio::test]
async fn a_prompt_and_a_stop_end_a_call_that_waits() {
    let desk = Desk::new();
    let mut session = desk.begin_post().await;
    session.cancel().await.unwrap();
    assert_eq!(results(&session), ["the call was cancelled; it did not run"]);
    let agent = desk.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")]);
    let mut session = agent.options(|options| options.on_prompt = OnPrompt::Supersede).session();
    session.send("go").await.unwrap();
    session.send("Never mind.").await.unwrap();
    assert_eq!(results(&session), ["a new message of the user came first; it did not run"]);
}

#[tokio::test]
async fn a_call_that_waits_expires_like_an_approval() {
    let desk = Desk::new();
    let (clock, day) = (TestClock::new(), Duration::from_hours(24));
    let agent = desk.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")]).clock(&clock);
    let mut session = agent.options(|options| options.approval_expiry = Some(day)).session();
    session.send("go").await.unwrap();
    clock.advance(day);
    session.resume().await.unwrap();
    assert_eq!(results(&session), ["nobody answered in time; it did not run"]);
}

/// An operator that answers at once, such as a terminal.
#[tokio::test]
async fn an_operator_answers_while_the_run_goes_on() {
    let desk = Desk::new();
    let person = Person::deciding([Decision::Approve, Decision::Approve]);
    let agent = desk.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")]).operator(person.clone());
    let asked = Arc::new(AtomicUsize::new(0));
    let agent = agent.secrets(move |_, _| {
        let is_there = asked.fetch_add(1, Ordering::SeqCst) == 2;
        async move { Ok(if is_there { Secret::new("k-123") } else { Secret::missing("Sign in.", None) }) }
    });
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().text, "ok");
    assert_eq!((results(&session), person.questions().len()), (vec!["hi 5".to_owned()], 2));
    // One that approves forever meets the limit.
    let person = Person::deciding(std::iter::repeat_n(Decision::Approve, 200));
    let turns = [Turn::call("post", json!({ "text": "hi" })), Turn::say("ok")];
    let agent = desk.agent(turns).operator(person.clone());
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().text, "ok");
    assert_eq!(person.questions().len(), 100);
    assert!(results(&session)[0].contains("waits at most 100 times"), "{:?}", results(&session));
}

/// To provide a secret is no approval: a policy that became stricter meanwhile still asks, and so does the taint of a call beside it.
#[tokio::test]
async fn a_call_with_its_secret_may_still_need_an_approval() {
    let is_strict = Arc::new(AtomicBool::new(false));
    for approved_before in [false, true] {
        is_strict.store(false, Ordering::SeqCst);
        let desk = Desk::new();
        let strict = Arc::clone(&is_strict);
        let tool = if approved_before { "post_approved" } else { "post" };
        let agent = desk.agent([Turn::call(tool, json!({ "text": "hi" })), Turn::say("ok")]);
        let mut session = agent
            .policy(
                move |_: &PolicyCall<'_>| {
                    if strict.load(Ordering::SeqCst) { Permission::Ask } else { Permission::Allow }
                },
            )
            .session();
        session.send("go").await.unwrap();
        if approved_before {
            approve(&mut session).await;
        }
        is_strict.store(true, Ordering::SeqCst);
        desk.vault.put("key", "k-123");
        approve(&mut session).await;
        if !approved_before {
            assert!(matches!(session.interrupts().next().unwrap().kind, InterruptKind::Approval { .. }));
            assert_eq!(desk.posted(), 0);
            approve(&mut session).await;
        }
        assert_eq!(session.run().phase(), Phase::Finished);
    }
}

#[tokio::test]
async fn a_waiting_call_ends_with_the_rights_to_its_tool() {
    let desk = Desk::new();
    let session = desk.begin_post().await;
    let (id, open) = (session.id().clone(), open_of(session.run()));
    drop(session);
    desk.vault.put("key", "k-123");
    desk.agent([]).decide(&id, &open, Decision::Approve, "ann").await.unwrap();
    let without = desk.agent([Turn::say("ok")]).for_each_caller(|agent, _| async { Ok(agent.tools(toolset!(look))) });
    let mut session = without.for_caller("ann").await.unwrap().open(&id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    assert_eq!((desk.posted(), session.run().calls()[0].result().unwrap().is_success()), (0, false));
}

#[tokio::test]
async fn a_secret_is_in_no_record_and_no_text() {
    let desk = Desk::new();
    desk.vault.put("key", "k-123-secret");
    let turn = Turn::call("post", json!({ "text": "hi" })).then_call("leak", json!({}));
    let agent = desk.agent([turn, Turn::say("ok")]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let records = desk.store.read(session.id(), 0).await.unwrap();
    let stored: String = records.iter().map(|record| record.text.as_str()).collect();
    let events = format!("{:?}", desk.events.all());
    assert!(events.contains("[redacted] is refused"), "{events}");
    let secret = Secret::new("k-123-secret");
    let shown = format!("{secret:?} {:?} {:?} {}", agent, session, session.run().freeze());
    for text in [stored, events, shown, serde_json::to_string(session.messages()).unwrap()] {
        assert!(!text.contains("k-123"), "{text}");
    }
    let call = toolset!(leak).call("leak", "{}", &Context::new("")).await.unwrap_err();
    assert!(call.for_log().contains("the context has no secret `key`"), "{call:?}");
}

/// An agent as a tool has a function of its own. Its call waits at the outer one.
#[tokio::test]
async fn a_call_of_an_inner_agent_waits_at_the_outer_call() {
    let desk = Desk::new();
    let inner = desk.agent([Turn::call("post", json!({ "text": "hi" })), Turn::say("posted")]);
    let inner = inner.as_tool("writer", "Writes.").output::<String>().unwrap();
    let turns = [Turn::call("writer", json!({ "task": "write" })), Turn::say("done")];
    let outer = Agent::new(ScriptedModel::new(turns)).tools(Toolset::new().with(inner).unwrap()).principal("ann");
    let mut session = outer.operator(Suspend).store(Arc::clone(&desk.store)).session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap();
    assert_eq!(open.innermost().need().unwrap().url.as_deref(), Some("https://example.com/in"));
    desk.vault.put("key", "k-123");
    approve(&mut session).await;
    assert_eq!((session.run().phase(), desk.posted()), (Phase::Finished, 1));
    assert_eq!(desk.vault.take_asked(), [key_of_ann(), key_of_ann()]);
}

/// Charges once, and then asks for something that a call needs before its start.
#[tool(effect = write)]
async fn charge(#[context] cx: &Context, #[state] posted: &AtomicUsize) -> Result<String, Failure> {
    posted.fetch_add(1, Ordering::SeqCst);
    cx.ask_question(Question::need("Sign in.", "account", None)).await?;
    Ok("charged".to_owned())
}

/// The start of a tool that runs cannot be taken back.
#[tokio::test]
async fn a_running_tool_cannot_wait_for_a_need() {
    let desk = Desk::new();
    let agent = desk.agent([Turn::call("charge", json!({})), Turn::say("ok")]);
    let mut session = agent.tools(toolset!(Arc::clone(&desk.posted); charge)).session();
    assert_eq!(session.send("go").await.unwrap().text, "ok");
    assert_eq!((desk.posted(), session.run().calls()[0].result().unwrap().is_success()), (1, false));
}

/// Posts after an approval.
#[tool(name = "post", approval = always, version = "1")]
fn first_post(text: String, #[arg(secret)] key: String) -> String {
    format!("{text} {}", key.len())
}

/// Posts.
#[tool(name = "post", version = "2", migrate_from = ["1"])]
fn second_post(text: String, #[arg(secret)] key: String, #[state] posted: &AtomicUsize) -> String {
    posted.fetch_add(1, Ordering::SeqCst);
    format!("{text} {}", key.len())
}

/// The approval of an earlier version of the tool is none of the call that waits for a secret now. The function is asked for the owner
/// of the run, also by an agent of nobody.
#[tokio::test]
async fn an_approval_of_another_version_does_not_count() {
    let (desk, is_strict) = (Desk::new(), Arc::new(AtomicBool::new(false)));
    let turns = [Turn::call("post", json!({ "text": "hi" }))];
    let mut session = desk.agent(turns).tools(toolset!(first_post)).session();
    session.send("go").await.unwrap();
    let (id, open) = (session.id().clone(), open_of(session.run()));
    drop(session);
    let strict = Arc::clone(&is_strict);
    let agent = desk.agent([Turn::say("ok")]).tools(toolset!(Arc::clone(&desk.posted); second_post)).policy(
        move |_: &PolicyCall<'_>| if strict.load(Ordering::SeqCst) { Permission::Ask } else { Permission::Allow },
    );
    let agent = agent.edit_context(|_| Context::new(""));
    desk.agent([]).tools(toolset!(first_post)).decide(&id, &open, Decision::Approve, "ann").await.unwrap();
    let mut session = agent.open(&id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Suspended);
    assert!(session.interrupts().next().unwrap().need().is_some());
    assert_eq!(desk.vault.take_asked(), [key_of_ann()]);
    desk.vault.put("key", "k-123");
    is_strict.store(true, Ordering::SeqCst);
    approve(&mut session).await;
    assert!(matches!(session.interrupts().next().unwrap().kind, InterruptKind::Approval { .. }));
    assert_eq!(desk.posted(), 0);
    approve(&mut session).await;
    assert_eq!((session.run().phase(), desk.posted()), (Phase::Finished, 1));
}

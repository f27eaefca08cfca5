//! Tests of resources: calls that conflict run one after the other, in the model's order. Two calls conflict if one writes what
//! the other reads or writes. All others run in parallel.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Context, Failure, Toolset,
    agent::Decision,
    layer::Timeout,
    model::{ScriptedModel, Turn},
    run::Call,
    run::Phase,
    tool,
    tool::TouchedResources,
    tools, toolset,
    toolset::RuntimeTool,
};
use tool_test_kit::AllAndSome as _;

use crate::kit::{
    Effects, Events, OnBackend as _, Person, agent, send_and_resume, sleep_millis, store, tool_results, wait_until,
};

/// Reads a file.
#[tool(effect = read_only, eager, touches = |input| TouchedResources::new().reads(&input.path))]
async fn read(path: String, #[state] effects: &Effects) -> Result<(), Failure> {
    work(effects, "read", &path).await
}

/// Writes a file.
#[tool(touches = written_file)]
async fn write(path: String, #[state] effects: &Effects) -> Result<(), Failure> {
    work(effects, "write", &path).await
}

fn written_file(input: &write) -> TouchedResources {
    TouchedResources::new().writes(&input.path)
}

/// Removes a file after an approval.
#[tool(approval = always, effect = destructive, touches = |input| TouchedResources::new().writes(&input.path))]
async fn remove(path: String, #[state] effects: &Effects) -> Result<(), Failure> {
    work(effects, "remove", &path).await
}

/// Declares no resources.
#[tool(effect = read_only)]
async fn other(path: String, #[state] effects: &Effects) -> Result<(), Failure> {
    work(effects, "other", &path).await
}

/// Opens a file in the editor.
#[tool(external, output = bool, touches = |input| TouchedResources::new().writes(&input.path))]
struct Edit {
    path: String,
}

/// Puts all files in order.
#[tool(state = Effects, touches = |_| panic!("the predicate panics"))]
struct Tidy;

impl tool_runtime::ExecuteWith<Effects> for Tidy {
    type Output = ();
    type Error = Failure;

    async fn execute(self, effects: &Effects, _: &Context) -> Result<(), Failure> {
        work(effects, "tidy", "all").await
    }
}

struct Shelf(Arc<Effects>);

#[tools]
impl Shelf {
    /// Turns a page.
    #[tool(touches = |input| TouchedResources::new().writes("books").reads(&input.path))]
    async fn turn(&self, path: String) -> Result<(), Failure> {
        work(&self.0, "turn", &path).await
    }
}

/// Calls of one turn that have nothing in common. Each ends only when all have begun.
const APART: [&str; 4] = ["write one", "read two", "other one", "write three"];

async fn work(effects: &Effects, what: &str, path: &str) -> Result<(), Failure> {
    let call = format!("{what} {path}");
    effects.record(&call);
    if APART.contains(&call.as_str()) {
        wait_until(|| APART.iter().all(|other| effects.count(other) == 1)).await;
    }
    sleep_millis(40).await;
    effects.record(format!("{call} ends"));
    Ok(())
}

fn all_tools(effects: &Arc<Effects>) -> Toolset {
    let seen = Arc::clone(effects);
    let copy = RuntimeTool::new("copy", "Copies a file.")
        .input(json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}))
        .touches(|arguments| TouchedResources::new().writes(arguments["to"].as_str().unwrap_or_default()))
        .handler(move |arguments, _| {
            let seen = Arc::clone(&seen);
            async move {
                work(&seen, "copy", arguments["to"].as_str().unwrap_or_default()).await?;
                Ok(json!(null))
            }
        });
    let tools = toolset!(Arc::clone(effects); read, write, remove, other, Edit, Tidy);
    let shelf = Shelf(Arc::clone(effects)).toolset();
    tools.with(copy.unwrap()).unwrap().merge(shelf).unwrap()
}

fn with_path(path: &str) -> serde_json::Value {
    json!({ "path": path })
}

/// Returns whether the first call ended before the second began.
fn ends_before(effects: &Effects, first: &str, second: &str) -> bool {
    let seen = effects.all();
    let at = |what: &str| seen.iter().position(|did| did == what).unwrap_or_else(|| panic!("no {what} in {seen:?}"));
    at(&format!("{first} ends")) < at(second)
}

async fn play(turn: Turn) -> Arc<Effects> {
    let effects = Effects::new();
    let model = ScriptedModel::new([turn, Turn::say("ok")]);
    Agent::new(model)
        .tools(all_tools(&effects).layer(Timeout::new(std::time::Duration::from_mins(1))))
        .anywhere()
        .run("go")
        .await
        .unwrap();
    effects
}

#[tokio::test]
async fn calls_that_conflict_run_in_the_models_order_and_the_others_in_parallel() {
    let turn = Turn::call("write", with_path("one"))
        .then_call("read", with_path("one/x"))
        .then_call("read", with_path("two"))
        .then_call("write", with_path("two"))
        .then_call("other", with_path("one"))
        .then_call("write", with_path("three"))
        .then_call("copy", json!({"to": "three"}));
    let effects = play(turn).await;
    assert!(ends_before(&effects, "write one", "read one/x"));
    assert!(ends_before(&effects, "read two", "write two"));
    assert!(ends_before(&effects, "write three", "copy three"), "a runtime tool names the same resources");
    let [first, others @ ..] = APART;
    for other in others {
        assert!(
            !ends_before(&effects, first, other) && !ends_before(&effects, other, first),
            "{first} {other}: {:?}",
            effects.all()
        );
    }
}

#[tokio::test]
async fn structs_and_methods_declare_resources_and_a_panic_conflicts_with_all() {
    let effects = play(
        Turn::call("read", with_path("books/1"))
            .then_call("turn", with_path("x"))
            .then_call("Tidy", "{}")
            .then_call("read", with_path("y")),
    )
    .await;
    assert!(ends_before(&effects, "read books/1", "turn x"));
    assert!(ends_before(&effects, "turn x", "tidy all"), "a call whose `touches` panics conflicts with every call");
    assert!(ends_before(&effects, "tidy all", "read y"));
}

#[tokio::test]
async fn eager_calls_wait_for_resources() {
    let turn = Turn::call("read", with_path("a")).then_call("write", with_path("a")).then_call("read", with_path("a"));
    let effects = play(turn).await;
    let expected = ["read a", "read a ends", "write a", "write a ends", "read a", "read a ends"];
    assert_eq!(effects.all(), expected);
}

#[tokio::test]
async fn a_waiting_call_holds_its_resources_and_an_edit_changes_them() {
    for edited in [false, true] {
        let (store, effects) = (store(), Effects::new());
        let turn =
            Turn::call("remove", with_path("a")).then_call("write", with_path("a")).then_call("write", with_path("b"));
        let agent = agent(&store, all_tools(&effects), [turn, Turn::say("ok")]);
        let mut session = agent.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        assert_eq!(effects.all(), ["write b", "write b ends"], "the write of `a` comes after its removal");
        assert!(session.run().calls().iter().all_and_some(|call: &Call| call.touches().is_some()));
        let interrupt = session.interrupts().next().unwrap().id.clone();
        let decision = if edited { Decision::Edit { arguments: with_path("c") } } else { Decision::Approve };
        // Another process reads the resources from the log.
        agent.decide(session.id(), &interrupt, decision, "").await.unwrap();
        let mut session = agent.open(session.id()).await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(
            ends_before(&effects, if edited { "remove c" } else { "remove a" }, "write a"),
            !edited,
            "{:?}",
            effects.all()
        );
    }
}

#[tokio::test]
async fn an_external_call_is_announced_when_no_call_holds_its_resources() {
    let effects = Effects::new();
    let turn = Turn::call("write", with_path("a")).then_call("Edit", with_path("a")).then_call("write", with_path("a"));
    let (person, events) = (Person::default().executing(["true"]), Events::new());
    let model = ScriptedModel::new([turn, Turn::say("ok")]);
    let mut session =
        Agent::new(model).tools(all_tools(&effects)).observer(events.clone()).operator(person).anywhere().session();
    send_and_resume(&mut session, "go").await;
    assert_eq!(effects.count("write a"), 2);
    assert_eq!(tool_results(&session)[1], "true");
    let of_edit = events.of_tool("Edit").lines();
    assert!(of_edit.iter().any(|line| line.starts_with("opened")), "{of_edit:?}");
    let lines = events.lines();
    let is = |line: &str, what: &str, name: &str| line.starts_with(what) && line.contains(&format!(" {name} "));
    let first = |what: &str, name: &str| lines.iter().position(|line| is(line, what, name)).unwrap();
    let last_start = lines.iter().rposition(|line| is(line, "started", "write")).unwrap();
    assert!(first("finished", "write") < first("opened", "Edit"), "{lines:?}");
    assert!(first("finished", "Edit") < last_start, "{lines:?}");
}

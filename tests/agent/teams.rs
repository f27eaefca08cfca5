//! Tests of teams: agents that hand one conversation over to each other.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context, Toolset,
    agent::{EventKind, Guard, Suspend},
    message::Message,
    model::{FunctionModel, Request, ScriptedModel, Turn},
    run::{Decision, Phase, Refusal},
    store::{MemoryStore, Store},
    tool, toolset,
    toolset::Permission,
};

/// Looks.
#[tool(effect = read_only)]
fn look() -> &'static str {
    "seen"
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(
    /** The amount. */
    amount: u32,
    #[context] cx: &Context,
) -> String {
    format!("{amount} by {}", cx.principal().unwrap_or("nobody"))
}

/// Shows a map.
#[tool(external, output = String)]
struct ShowMap {
    /// The place.
    place: String,
}

/// The requests to models: the model's name, its instructions and its tools.
type Seen = Arc<Mutex<Vec<String>>>;

/// Returns a model that notes what it sees, and does what the last prompt says: the name of a tool and its arguments, or a text.
fn model(name: &'static str, seen: &Seen) -> FunctionModel {
    let seen = Arc::clone(seen);
    FunctionModel::new(move |request| {
        let instructions = match request.messages.first() {
            Some(Message::System { text }) => text.clone(),
            _ => String::new(),
        };
        let tools: Vec<&str> = request.tools.specs().iter().map(|tool| tool.name.as_str()).collect();
        seen.lock().unwrap().push(format!("{name}|{instructions}|{}", tools.join(",")));
        answer(name, &request)
    })
}

fn answer(name: &str, request: &Request<'_>) -> Turn {
    match request.messages.last() {
        Some(Message::User { content }) => {
            let text = content[0].as_text().unwrap();
            match text.split_once(' ') {
                Some((tool, arguments)) => Turn::call(tool, arguments),
                None => Turn::say(format!("{name} says {text}")),
            }
        }
        Some(Message::Tool(result)) => {
            let text: String = result.content.iter().filter_map(|part| part.as_text()).collect();
            Turn::say(format!("{name} reads {text}"))
        }
        _ => Turn::say(name),
    }
}

fn desk(seen: &Seen) -> Agent {
    let bills = Agent::new(model("bills", seen)).instructions("Bills.").tools(toolset!(pay));
    Agent::new(model("desk", seen))
        .instructions("Desk.")
        .tools(toolset!(look, ShowMap))
        .name("desk")
        .operator(Suspend)
        .hands_over_to("bills", "Knows bills.", bills)
        .unwrap()
}

const TO_BILLS: &str = r#"hand_over {"to":"bills"}"#;
const TO_DESK: &str = r#"hand_over {"to":"desk"}"#;

#[tokio::test]
async fn another_agent_goes_on_and_hands_back() {
    let seen = Seen::default();
    let mut session = desk(&seen).session();
    assert_eq!(session.send("hi").await.unwrap().text, "desk says hi");
    let reply = session.send(TO_BILLS).await.unwrap();
    assert_eq!(reply.text, "bills reads The conversation is with bills now.");
    assert_eq!(session.run().acting_agent(), Some("bills"));
    // The same agent answers the next prompt.
    assert_eq!(session.send("hi").await.unwrap().text, "bills says hi");
    assert_eq!(session.send(TO_DESK).await.unwrap().text, "desk reads The conversation is with desk now.");
    assert_eq!(session.run().acting_agent(), None);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "desk|Desk.|look,ShowMap,hand_over",
            "desk|Desk.|look,ShowMap,hand_over",
            "bills|Bills.|ShowMap,pay,hand_over",
            "bills|Bills.|ShowMap,pay,hand_over",
            "bills|Bills.|ShowMap,pay,hand_over",
            "desk|Desk.|look,ShowMap,hand_over",
        ]
    );
    // Nothing of the conversation is lost or repeated.
    assert_eq!(session.messages().len(), 12);
}

/// Each agent has its own tools: a call of another one's tool is answered as if the tool did not exist.
#[tokio::test]
async fn an_agent_calls_only_its_own_tools() {
    let seen = Seen::default();
    let mut session = desk(&seen).session();
    let reply = session.send(r#"pay {"amount":5}"#).await.unwrap();
    assert!(reply.text.contains("there is no tool called `pay`"), "{}", reply.text);
    session.send(TO_BILLS).await.unwrap();
    let reply = session.send("look {}").await.unwrap();
    assert!(reply.text.contains("there is no tool called `look`"), "{}", reply.text);
    assert_eq!(session.send(r#"pay {"amount":5}"#).await.unwrap().phase, Phase::Suspended);
}

/// The log says who acts, so another process goes on with the same agent.
#[tokio::test]
async fn the_agent_that_acts_is_in_the_log() {
    let (seen, store): (Seen, Arc<dyn Store>) = (Seen::default(), Arc::new(MemoryStore::new()));
    let here = desk(&seen).store(Arc::clone(&store)).principal("ann");
    let mut session = here.session();
    session.send(TO_BILLS).await.unwrap();
    session.send(r#"pay {"amount":5}"#).await.unwrap();
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    drop(session);
    let there = desk(&seen).store(Arc::clone(&store));
    there.decide(&id, &open, Decision::Edit { arguments: json!({ "amount": 4 }) }, "ann").await.unwrap();
    assert!(there.resume_run(&id).await.unwrap());
    let session = there.open_for_owner(&id).await.unwrap();
    let text = session.run().last_text();
    assert!(text.starts_with("bills reads") && text.ends_with("4 by ann"), "{text}");
    let run = session.run();
    let thawed = tool_runtime::run::Run::thaw(&run.freeze()).unwrap();
    assert_eq!(thawed.acting_agent(), Some("bills"));
    // A branch begins with the agent that acted there.
    assert_eq!(there.branch("a", run, 1).run().acting_agent(), Some("bills"));
    assert_eq!(there.branch("b", run, 0).run().acting_agent(), None);
    assert_eq!(there.branch("c", run, 9).run().acting_agent(), Some("bills"));
    // Before the handover's call, the first agent acts; before a later one, the other agent.
    let of_call = |at: usize| there.branch_before_call("d", run, &run.calls()[at].id, |_| ()).unwrap();
    assert_eq!(of_call(0).run().acting_agent(), None);
    assert_eq!(of_call(1).run().acting_agent(), Some("bills"));
    // A process without that agent leaves the run alone, and does not let another agent answer.
    let alone = Agent::new(model("desk", &seen)).tools(toolset!(look, pay)).name("desk").store(Arc::clone(&store));
    let reason = alone.reason_to_leave(run).unwrap();
    assert!(reason.contains("the agent `bills` acts"), "{reason}");
    let failed = alone.principal("ann").open(&id).await.unwrap().send("hi").await.unwrap_err();
    assert!(failed.to_string().contains("the agent `bills` acts"), "{failed}");
}

/// The handover is stored with the end of its call, so that no process can see one without the other. It counts once: the application
/// can take the conversation back from an agent that never answered.
#[tokio::test]
async fn a_handover_counts_once() {
    let (seen, store): (Seen, Arc<dyn Store>) = (Seen::default(), Arc::new(MemoryStore::new()));
    let broken = FunctionModel::streaming(|_| {
        let error = tool_runtime::model::ModelError::new(tool_runtime::model::ModelErrorKind::Configuration, "no key");
        futures_util::stream::iter([Err(error)])
    });
    let desk = Agent::new(model("desk", &seen)).store(Arc::clone(&store));
    let desk = desk.hands_over_to("bills", "Knows bills.", Agent::new(broken)).unwrap();
    let mut session = desk.session();
    session.send(TO_BILLS).await.unwrap_err();
    assert_eq!(session.run().acting_agent(), Some("bills"));
    let records = store.read(session.id(), 0).await.unwrap();
    let record = records.iter().find(|record| record.text.contains("handed_over")).expect("the entry");
    assert!(record.text.contains("call_ended"), "{}", record.text);
    session.hand_over(None).await.unwrap();
    assert!(session.resume().await.unwrap().text.starts_with("desk reads"), "{}", session.run().last_text());
    assert_eq!(session.send("hi").await.unwrap().text, "desk says hi");
    assert_eq!(session.run().acting_agent(), None);
}

/// A run that stops after the call is of the other agent, and so is a new answer to the next prompt.
#[tokio::test]
async fn a_stopped_run_and_a_branch_are_of_the_agent_that_acts() {
    let seen = Seen::default();
    let desk = desk(&seen).stop_when(tool_runtime::agent::StopWhen::succeeded("hand_over"));
    let mut session = desk.session();
    assert!(matches!(session.send(TO_BILLS).await.unwrap().phase, Phase::Stopped(_)));
    assert_eq!(session.send("hi").await.unwrap().text, "bills says hi");
    let mut branch = desk.branch("b", session.run(), 1);
    assert_eq!(branch.send("hey").await.unwrap().text, "bills says hey");
}

#[tokio::test]
async fn the_application_hands_over_at_rest() {
    let (seen, store): (Seen, Arc<dyn Store>) = (Seen::default(), Arc::new(MemoryStore::new()));
    let agent = desk(&seen).store(Arc::clone(&store)).principal("ann");
    let mut session = agent.session();
    session.hand_over(Some("bills")).await.unwrap();
    assert_eq!(session.send("hi").await.unwrap().text, "bills says hi");
    session.hand_over(Some("desk")).await.unwrap();
    assert_eq!(session.send("hi").await.unwrap().text, "desk says hi");
    let unknown = session.hand_over(Some("travel")).await.unwrap_err();
    assert!(matches!(&unknown, AgentError::Refused(Refusal::NoSuchAgent { name }) if name == "travel"), "{unknown}");
    let id = session.id().clone();
    drop(session);
    agent.hand_over(&id, Some("bills"), "ann").await.unwrap();
    let foreign = agent.hand_over(&id, None, "ben").await;
    assert!(matches!(foreign, Err(AgentError::Refused(Refusal::Forbidden))), "{foreign:?}");
    let mut session = agent.open(&id).await.unwrap();
    assert_eq!(session.send("hi").await.unwrap().text, "bills says hi");
    // A call that waits is one of the agent that acts, so nobody else goes on now.
    session.send(r#"pay {"amount":5}"#).await.unwrap();
    assert!(matches!(session.hand_over(None).await, Err(AgentError::Refused(Refusal::Busy))));
    assert_eq!(session.run().acting_agent(), Some("bills"));
}

/// Policies of both agents judge the calls of the other agent's tools, and its guards check the prompts that it answers.
#[tokio::test]
async fn the_rules_of_both_hold() {
    let seen = Seen::default();
    let guard = |name: &'static str, forbidden: &'static str| {
        Guard::new(name, move |prompt: Vec<tool_runtime::Part>, _| async move {
            let text = prompt[0].as_text().unwrap_or_default().to_owned();
            if text.contains(forbidden) { Err(format!("no {forbidden}")) } else { Ok(()) }
        })
    };
    let bills = Agent::new(model("bills", &seen))
        .tools(toolset!(pay))
        .policy(|call| if call.arguments.contains('9') { Permission::deny("not nine") } else { Permission::Allow })
        .deciders(|_, _| vec!["boss".into()])
        .guard(guard("bills", "secrets"));
    let desk = Agent::new(model("desk", &seen))
        .tools(toolset!(look))
        .operator(Suspend)
        .policy(|call| if call.arguments.contains('8') { Permission::deny("not eight") } else { Permission::Allow })
        .guard(guard("desk", "homework"))
        .hands_over_to("bills", "Knows bills.", bills)
        .unwrap();
    let mut session = desk.session();
    assert!(session.send("secrets").await.is_ok());
    session.send(TO_BILLS).await.unwrap();
    for (amount, reason) in [(8, "not eight"), (9, "not nine")] {
        let reply = session.send(format!(r#"pay {{"amount":{amount}}}"#)).await.unwrap();
        assert!(reply.text.contains(reason), "{}", reply.text);
    }
    session.send(r#"pay {"amount":7}"#).await.unwrap();
    let open = session.interrupts().next().unwrap().clone();
    assert!(matches!(
        session.decide(&open.id, Decision::Approve, "").await,
        Err(AgentError::Refused(Refusal::Forbidden))
    ));
    session.decide(&open.id, Decision::Approve, "boss").await.unwrap();
    session.resume().await.unwrap();
    for (prompt, name) in [("secrets", "bills"), ("homework", "desk")] {
        let Err(AgentError::Blocked { by, .. }) = session.send(prompt).await else { panic!("{prompt}") };
        assert_eq!(by, name);
    }
}

#[tokio::test]
async fn events_say_who_acts() {
    let seen = Seen::default();
    let mut run = desk(&seen).stream(TO_BILLS);
    let mut agents = Vec::new();
    let mut handed = None;
    while let Some(event) = run.next().await {
        if agents.last() != Some(&event.agent.to_string()) {
            agents.push(event.agent.to_string());
        }
        if let EventKind::HandedOver { to } = event.kind {
            handed = to;
        }
    }
    assert_eq!((agents, handed.as_deref()), (vec!["desk".to_owned(), "bills".to_owned()], Some("bills")));
    let (session, _) = run.finish_session().await;
    // A later stream begins with the agent that acts.
    let mut run = session.stream("hi");
    assert_eq!(&*run.next().await.unwrap().agent, "bills");
}

/// A typed answer, and the final tools, are there for whoever acts.
#[tokio::test]
async fn the_answer_may_come_from_another_agent() {
    let bills = Agent::new(ScriptedModel::new([Turn::call("final_answer", json!({ "answer": 7 }))]));
    let desk = Agent::new(ScriptedModel::new([Turn::call("hand_over", json!({ "to": "bills" }))]));
    let desk = desk.hands_over_to("bills", "Knows bills.", bills).unwrap();
    assert_eq!(desk.ask("How many?").typed::<u8>().await.unwrap().value, 7);
}

/// An agent inside of another one hands over within its own run.
#[tokio::test]
async fn an_inner_agent_hands_over() {
    let bills = Agent::new(ScriptedModel::new([Turn::say("two")])).tools(toolset!(pay));
    let inner = Agent::new(ScriptedModel::new([Turn::call("hand_over", json!({ "to": "bills" }))]));
    let inner = inner.hands_over_to("bills", "Knows bills.", bills).unwrap().as_tool("expert", "Asks an expert.");
    let model = ScriptedModel::new([Turn::call("expert", json!({ "task": "How many?" })), Turn::say("done")]);
    let outer = Agent::new(model).tools(Toolset::new().with(inner).unwrap());
    let mut session = outer.session();
    session.send("go").await.unwrap();
    assert_eq!(session.run().calls()[0].result().unwrap().output().unwrap().text(), "two");
    assert_eq!(session.run().acting_agent(), None);
}

#[tokio::test]
async fn names_and_tools_of_a_team_are_unique() {
    let agent = || Agent::new(ScriptedModel::new([Turn::say("Hi.")]));
    let team = agent().name("desk").hands_over_to("bills", "Knows bills.", agent()).unwrap();
    assert!(team.clone().hands_over_to("bills", "Again.", agent()).is_err());
    let nested = agent().hands_over_to("desk", "A team.", team.clone()).unwrap_err().to_string();
    assert!(nested.starts_with("the agent `desk` has a team of its own; put all agents into one team"), "{nested}");
    assert!(team.clone().hands_over_to("desk", "Itself.", agent()).is_err());
    assert!(agent().hands_over_to("main", "Itself.", agent()).is_err());
    let both = toolset!(look);
    let shared = agent().tools(both.clone()).hands_over_to("bills", "Knows bills.", agent().tools(both.clone()));
    assert_eq!(shared.unwrap().toolset().names().collect::<Vec<_>>(), ["look", "hand_over"]);
    let other = agent().tools(toolset!(look)).hands_over_to("bills", "Knows bills.", agent().tools(toolset!(look)));
    assert!(other.is_err(), "two tools have one name");
    // Other tools of the agent do not remove those of its team.
    let third = team.hands_over_to("travel", "Books.", agent().tools(toolset!(pay))).unwrap().tools(toolset!(look));
    assert_eq!(third.toolset().names().collect::<Vec<_>>(), ["look", "pay", "hand_over"]);
    // A member keeps its tool, whatever the other agent has later.
    let both = toolset!(pay);
    let member = agent().tools(both.clone());
    let later = agent().hands_over_to("bills", "Knows bills.", member).unwrap().tools(toolset!(pay, look));
    let kept = later.toolset().get("pay").unwrap();
    assert!(Arc::ptr_eq(kept, both.get("pay").unwrap()));
    // The name of the tool, and of the agent, are taken.
    assert!(agent().tools(toolset!(hand_over)).hands_over_to("bills", "Knows bills.", agent()).is_err());
    assert!(agent().hands_over_to("bills", "Knows bills.", agent().tools(toolset!(hand_over))).is_err());
    let of_callers = agent().for_each_caller(|agent, _| async { Ok(agent) });
    let error = agent().hands_over_to("bills", "Knows bills.", of_callers).unwrap_err();
    assert!(error.to_string().contains("the agent `bills` is made for each caller"), "{error}");
    // A server of MCP makes the calls by itself.
    let alone = later.without_models();
    assert_eq!(alone.toolset().names().collect::<Vec<_>>(), ["pay", "look"]);
}

/// A tool of the application that only has the name.
#[tool(effect = read_only)]
fn hand_over() {}

/// Neither a prepared step, a final tool nor a choice of tools offers the tools of another agent.
#[tokio::test]
async fn no_setting_lends_the_tools_of_another_agent() {
    let seen = Seen::default();
    let bills = Agent::new(model("bills", &seen)).tools(toolset!(pay)).prepare_step(|step| {
        step.set_tools(["look", "pay", "hand_over"]);
    });
    let desk = Agent::new(model("desk", &seen)).tools(toolset!(look)).final_tools(["pay"]).active_tools(["look"]);
    let desk = desk.hands_over_to("bills", "Knows bills.", bills).unwrap();
    let mut session = desk.session();
    session.send(TO_BILLS).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["desk||look,hand_over", "bills||pay,hand_over"]);
    let reply = session.send("look {}").await.unwrap();
    assert!(reply.text.contains("there is no tool called `look`"), "{}", reply.text);
}

/// An agent that goes on in the middle of a prompt checks that prompt.
#[tokio::test]
async fn the_guards_of_the_other_agent_check_the_prompt() {
    let seen = Seen::default();
    let guard = Guard::new("bills", |prompt: Vec<tool_runtime::Part>, _| async move {
        let is_long = prompt[0].as_text().unwrap_or_default().contains("hand_over");
        if is_long { Err("not this") } else { Ok(()) }
    });
    let bills = Agent::new(model("bills", &seen)).guard(guard);
    let mut session = Agent::new(model("desk", &seen)).hands_over_to("bills", "Knows bills.", bills).unwrap().session();
    let Err(AgentError::Blocked { by, .. }) = session.send(TO_BILLS).await else { panic!("it was allowed") };
    assert_eq!(by, "bills");
    session.hand_over(Some("main")).await.unwrap();
    assert_eq!(session.send("hi").await.unwrap().text, "desk says hi");
}

/// The deciders of an agent hold in whatever order the settings are made.
#[tokio::test]
async fn later_deciders_do_not_replace_those_of_another_agent() {
    let seen = Seen::default();
    let bills = Agent::new(model("bills", &seen)).tools(toolset!(pay)).deciders(|_, _| vec!["boss".into()]);
    let desk = Agent::new(model("desk", &seen)).operator(Suspend);
    let desk = desk.hands_over_to("bills", "Knows bills.", bills).unwrap().deciders(|_, _| Vec::new());
    let mut session = desk.session();
    session.send(TO_BILLS).await.unwrap();
    session.send(r#"pay {"amount":7}"#).await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    assert!(matches!(session.decide(&open, Decision::Approve, "").await, Err(AgentError::Refused(Refusal::Forbidden))));
}

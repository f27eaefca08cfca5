//! Tests of calls that are repaired, or refined, before they run.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_run::run::Author;
use tool_runtime::{
    Agent, Message, Toolset,
    agent::{Decision, InvalidCall, RepairedCall, Session},
    message::AssistantPart,
    model::{FunctionModel, ScriptedModel, ToolChoice, Turn, Usage},
    run::{CallResult, Phase},
    tool, toolset,
};

use crate::kit::{Effects, OnBackend as _, agent, call_results, resume, store, stores, tool_results, tools};

/// Counts, early.
#[tool(effect = read_only, eager)]
async fn count(
    /** To where. */
    to: u8,
    #[state] effects: &Effects,
) -> u8 {
    effects.record(format!("count {to}"));
    to
}

fn tools_and_count(effects: &Arc<Effects>) -> Toolset {
    tools(effects).merge(toolset!(Arc::clone(effects); count)).unwrap()
}

fn session(effects: &Arc<Effects>, turn: Turn, change: impl FnOnce(Agent) -> Agent) -> Session {
    change(Agent::new(ScriptedModel::new([turn, Turn::say("ok")])).tools(tools_and_count(effects))).anywhere().session()
}

/// Returns the calls in the conversation.
fn assistant_calls(session: &Session) -> Vec<String> {
    let calls = |message: &Message| match message {
        Message::Assistant { content } => content.clone(),
        _ => Vec::new(),
    };
    let call = |part: AssistantPart| match part {
        AssistantPart::Call(call) => Some(format!("{} {}", call.name, call.arguments)),
        _ => None,
    };
    session.messages().iter().flat_map(calls).filter_map(call).collect()
}

#[tokio::test]
async fn a_function_repairs_names_and_arguments_once() {
    let effects = Effects::new();
    let seen: Arc<Mutex<Vec<InvalidCall>>> = Arc::default();
    let bad_calls = Arc::clone(&seen);
    let turn = Turn::call("notes", json!({"text": "a"}))
        .then_call("count", "{\"to\": 3")
        .then_call("count", json!({"to": 1000}))
        .then_call("note", json!({"text": "b"}));
    let mut session = session(&effects, turn, |agent| {
        agent.repair(move |bad| {
            bad_calls.lock().unwrap().push(bad.clone());
            async move {
                match bad.call.name.as_str() {
                    "notes" => Some(RepairedCall::call("note", bad.call.arguments)),
                    _ if bad.call.arguments.ends_with('}') => Some(RepairedCall::arguments(json!({"to": 2000}))),
                    _ => Some(RepairedCall::arguments(format!("{}}}", bad.call.arguments))),
                }
            }
        })
    });
    session.send("go").await.unwrap();
    assert_eq!(effects.sorted(), ["count 3", "note a", "note b"]);
    assert!(
        matches!(call_results(&session)[2], CallResult::Rejected { .. }),
        "a call is repaired once, and this one is still wrong"
    );
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 3);
    // Calls of a turn are repaired at once.
    let of = |name: &str, arguments: &str| {
        seen.iter().find(|bad| bad.call.name == name && bad.call.arguments == arguments).unwrap()
    };
    let (unknown, cut) = (of("notes", "{\"text\":\"a\"}"), of("count", "{\"to\": 3"));
    assert!(unknown.spec.is_none() && unknown.rejection.is_none());
    assert!(unknown.for_model[0].as_text().unwrap().contains("did you mean `note`?"));
    assert!(cut.spec.is_some() && cut.rejection.is_some() && cut.messages.len() == 1);
    let expected = ["note {\"text\":\"a\"}", "count {\"to\": 3}", "count {\"to\":2000}", "note {\"text\":\"b\"}"];
    assert_eq!(assistant_calls(&session), expected, "the conversation has no invalid call");
    let call = &session.run().calls()[0];
    assert_eq!((call.arguments().author, call.name.as_str()), (Author::Repair, "note"));
    assert_eq!(&*call.revisions()[0].text, "{\"text\":\"a\"}");
}

#[tokio::test]
async fn a_repair_cannot_name_a_tool_that_is_not_on_offer() {
    let effects = Effects::new();
    let mut session = session(&effects, Turn::call("count", json!({"to": 1000})), |agent| {
        agent.active_tools(["count"]).repair(|_| async { Some(RepairedCall::call("note", json!({"text": "a"}))) })
    });
    session.send("go").await.unwrap();
    assert!(matches!(call_results(&session)[..], [CallResult::Rejected { .. }]), "{:?}", call_results(&session));
    assert!(effects.all().is_empty() && session.run().phase() == Phase::Finished);
    assert_eq!(assistant_calls(&session), ["count {\"to\":1000}"]);
}

#[tokio::test]
async fn a_failing_or_panicking_repairer_changes_nothing() {
    for panics in [false, true] {
        let effects = Effects::new();
        let mut session = session(&effects, Turn::call("notes", json!({"text": "a"})), |agent| {
            agent.repair(move |_| async move { if panics { panic!("ouch") } else { None } })
        });
        session.send("go").await.unwrap();
        assert!(matches!(call_results(&session)[..], [CallResult::NotAvailable { .. }]));
        assert_eq!(assistant_calls(&session), ["notes {\"text\":\"a\"}"]);
    }
}

#[tokio::test]
async fn the_model_repairs_one_call_in_the_same_step() {
    let effects = Effects::new();
    let asked: Arc<Mutex<Vec<(usize, ToolChoice)>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let turns = Mutex::new(vec![
        Turn::call("count", json!({"to": "three"})).then_call("note", json!({"text": "a"})),
        Turn::call("count", json!({"to": 3})).with_usage(Usage { input_tokens: 5, ..Usage::default() }),
        Turn::say("ok"),
    ]);
    let model = FunctionModel::new(move |request| {
        seen.lock().unwrap().push((request.messages.len(), request.tool_choice.clone()));
        turns.lock().unwrap().remove(0)
    });
    let mut session = Agent::new(model).tools(tools_and_count(&effects)).repair_by_model().anywhere().session();
    let reply = session.send("go").await.unwrap();
    assert_eq!((reply.steps, reply.usage.input_tokens), (2, 5));
    assert_eq!(reply.by_model().len(), 1, "a repair has the name of its model: {:?}", reply.by_model());
    assert_eq!(effects.count("count 3"), 1);
    assert_eq!(assistant_calls(&session), ["count {\"to\":3}", "note {\"text\":\"a\"}"]);
    let asked = asked.lock().unwrap();
    assert_eq!(
        asked[1],
        (3, ToolChoice::Tool("count".to_owned())),
        "the request has the prompt, the call and the feedback"
    );
    assert_eq!(asked[2].0, 4, "the conversation has nothing of the repair");
}

#[tokio::test]
async fn a_repaired_call_is_approved_and_its_run_continues_elsewhere() {
    for store in stores().await {
        let effects = Effects::new();
        let turn = Turn::call("pays", json!({"amount": 5}));
        let agent = agent(&store, tools(&effects), [turn, Turn::say("ok")])
            .repair(|bad| async move { Some(RepairedCall::call("pay", bad.call.arguments)) })
            .on(&store);
        let mut first = agent.session();
        assert_eq!(first.send("go").await.unwrap().phase, Phase::Suspended);
        let interrupt = first.interrupts().next().unwrap().id.clone();
        let again = crate::kit::agent(&store, tools(&effects), [Turn::say("ok")]);
        again.decide(first.id(), &interrupt, Decision::Approve, "").await.unwrap();
        let session = resume(&again, first.id()).await;
        assert_eq!(
            (effects.all(), tool_results(&session)),
            (vec!["pay 5 to Ann".to_owned()], vec!["paid 5".to_owned()])
        );
        assert_eq!(assistant_calls(&session), ["pay {\"amount\":5}"]);
    }
}

#[tokio::test]
async fn refined_arguments_are_shown_approved_and_run() {
    let effects = Effects::new();
    let refining = |agent: Agent| {
        agent.refine::<crate::kit::pay>(|input, arguments| {
            arguments.insert("amount".into(), (input.amount / 2).into());
            arguments.insert("to".into(), "Bob".into());
        })
    };
    for edit in [false, true] {
        let agent = refining(agent(&store(), tools(&effects), [payment_of_8(), Turn::say("ok")])).anywhere();
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let open = session.interrupts().next().unwrap().clone();
        assert_eq!(open.shown.arguments, json!({"amount": 4, "to": "Bob"}));
        let call = &session.run().calls()[0];
        assert_eq!((call.arguments().author, call.revisions()[0].author), (Author::Refinement, Author::Model));
        let mine = Decision::Edit { arguments: json!({"amount": 8}) };
        agent.decide(session.id(), &open.id, if edit { mine } else { Decision::Approve }, "").await.unwrap();
        resume(&agent, session.id()).await;
    }
    assert_eq!(effects.all(), ["pay 4 to Bob", "pay 8 to Ann"], "a person's edit is not refined");
}

fn payment_of_8() -> Turn {
    Turn::call("pay", json!({"amount": 8}))
}

#[tokio::test]
async fn a_refinement_that_the_tool_refuses_or_that_panics_does_not_run() {
    for panics in [false, true] {
        let effects = Effects::new();
        let mut session = session(&effects, Turn::call("count", json!({"to": 1})), |agent| {
            agent.refine_named("count", move |arguments| {
                assert!(!panics, "ouch");
                arguments.insert("to".into(), 1000.into());
            })
        });
        session.send("go").await.unwrap();
        assert_eq!(effects.all(), [""; 0]);
        assert!(!call_results(&session)[0].is_success());
    }
}

//! Tests of a suspended run: the program ends, another one opens the run, a person decides, and the run continues.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_runtime::{
    Toolset,
    agent::Decision,
    model::Turn,
    run::{ArgumentPattern, CallResult, InterruptKind, Phase, Refusal},
    store::WaitingFilter,
    tool, toolset,
    toolset::RuntimeTool,
};
use tool_test_kit::AllAndSome as _;

use crate::kit::{
    Effects, Events, OnBackend as _, Person, agent, call_results, is_engine, open_interrupts, payments, refusal,
    resume, start_waiting, store, stores, tool_results, tools,
};

/// Asks the person to confirm.
#[tool(external, output = Confirmation)]
struct Confirm {
    /// The action to confirm.
    action: String,
}

/// Sends a letter after an approval.
#[tool(external, approval = always, output = Confirmation)]
struct Letter {
    /// The text.
    text: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Confirmation {
    yes: bool,
}

#[tokio::test]
async fn a_run_is_found_approved_and_resumed_by_another_program() {
    for store in stores().await {
        let effects = Effects::new();
        let (_, id, _) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        // Only the store is left.
        let agent = agent(&store, tools(&effects), [Turn::say("paid it")]);
        let items = agent.waiting(&WaitingFilter::new().for_principal("")).await.unwrap();
        assert_eq!((items.len(), &items[0].run, items[0].interrupt.shown.tool.as_str()), (1, &id, "pay"));
        agent.decide(&id, &items[0].interrupt.id, Decision::Approve, "").await.unwrap();
        assert_eq!(open_interrupts(&agent, &id).await, []);
        assert_eq!(effects.all(), [""; 0], "a decision alone runs nothing");
        let mut session = agent.open(&id).await.unwrap();
        let reply = session.resume().await.unwrap();
        assert_eq!((reply.text.as_str(), reply.phase), ("paid it", Phase::Finished));
        assert_eq!(effects.all(), ["pay 5 to Ann"]);
        // A second resume changes nothing.
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(effects.all().len(), 1);
    }
}

#[derive(Serialize)]
struct Payment {
    amount: i64,
    to: &'static str,
}

#[tokio::test]
async fn a_wrong_edit_leaves_the_interrupt_open_and_a_right_one_runs() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        for wrong in [json!({"amount": 1000}), json!({}), json!({"amount": 5, "x": 1}), json!(7)] {
            let decided = agent.decide(&id, &interrupts[0].id, Decision::Edit { arguments: wrong.clone() }, "").await;
            assert!(matches!(refusal(decided), Refusal::Invalid { .. }), "{wrong}");
            assert_eq!(open_interrupts(&agent, &id).await, interrupts, "a refused edit leaves the interrupt open");
        }
        // The application decides with types.
        let typed = Decision::<_, String>::Edit { arguments: Payment { amount: 7, to: "Bob" } };
        agent.decide(&id, &interrupts[0].id, typed.erase().unwrap(), "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(effects.all(), ["pay 7 to Bob"]);
        let tool_results = tool_results(&session);
        assert!(
            tool_results[0].contains("A person changed the arguments to {\"amount\":7,\"to\":\"Bob\"}"),
            "{tool_results:?}"
        );
        let call = &session.run().calls()[0];
        assert_eq!((&*call.revisions()[0].text, call.arguments().by.is_some()), ("{\"amount\":5}", true));
    }
}

#[tokio::test]
async fn a_denial_and_a_response_end_a_call_without_running_it() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5, 6])).await;
        agent.decide(&id, &interrupts[1].id, Decision::Respond { output: json!("by cheque") }, "").await.unwrap();
        agent.decide(&id, &interrupts[0].id, Decision::deny("too much"), "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(tool_results(&session)[0], "the call was denied, and did not run: too much");
        assert!(tool_results(&session)[1].starts_with("A person gave this output; the tool did not run:"));
        assert_eq!(effects.all(), [""; 0]);
    }
}

/// Counts.
#[tool(approval = always)]
fn count() -> Vec<u8> {
    vec![1]
}

#[tokio::test]
async fn a_response_of_the_wrong_type_is_refused() {
    let store = store();
    let (agent, id, interrupts) = start_waiting(&store, toolset!(count), Turn::call("count", json!({}))).await;
    for wrong in [json!("x"), json!([1, 300]), json!(null)] {
        let decided = agent.decide(&id, &interrupts[0].id, Decision::Respond { output: wrong }, "").await;
        assert!(matches!(refusal(decided), Refusal::Invalid { .. }));
    }
    for other in [Decision::Answer { value: json!(1) }, Decision::Fail { error: "x".into() }, Decision::ApproveForRun] {
        assert!(matches!(refusal(agent.decide(&id, &interrupts[0].id, other, "").await), Refusal::NotOffered { .. }));
    }
    let typed = Decision::<(), Vec<u8>>::Respond { output: vec![7, 8] };
    agent.decide(&id, &interrupts[0].id, typed.erase().unwrap(), "").await.unwrap();
    assert!(tool_results(&resume(&agent, &id).await)[0].ends_with("[7,8]"));
}

#[tokio::test]
async fn external_calls_are_answered_from_outside() {
    for store in stores().await {
        let turn = Turn::call("Confirm", json!({"action": "leave"}))
            .then_call("Confirm", json!({"action": "stay"}))
            .then_call("Confirm", json!({"action": "sleep"}));
        let (agent, id, interrupts) = start_waiting(&store, toolset!(Confirm), turn).await;
        assert!(interrupts.iter().all_and_some(|interrupt| matches!(interrupt.kind, InterruptKind::External)));
        let wrong = Decision::Respond { output: json!({"yes": "perhaps"}) };
        assert!(matches!(refusal(agent.decide(&id, &interrupts[0].id, wrong, "").await), Refusal::Invalid { .. }));
        let approve = agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await;
        assert!(matches!(refusal(approve), Refusal::NotOffered { .. }));
        let yes = Decision::<(), _>::Respond { output: Confirmation { yes: true } };
        agent.decide(&id, &interrupts[0].id, yes.erase().unwrap(), "").await.unwrap();
        agent.decide(&id, &interrupts[1].id, Decision::Fail { error: "the tab was closed".into() }, "").await.unwrap();
        agent.decide(&id, &interrupts[2].id, Decision::deny("not now"), "").await.unwrap();
        let session = resume(&agent, &id).await;
        let tool_results = tool_results(&session);
        assert_eq!((tool_results[0].as_str(), tool_results[1].as_str()), ("{\"yes\":true}", "the tab was closed"));
        assert!(matches!(call_results(&session)[2], CallResult::Denied { .. }));
    }
}

#[tokio::test]
async fn an_external_call_is_announced_after_its_approval_with_the_arguments_that_were_approved() {
    for store in stores().await {
        let (agent, id, interrupts) =
            start_waiting(&store, toolset!(Letter), Turn::call("Letter", json!({"text": "rude"}))).await;
        assert!(matches!(interrupts[0].kind, InterruptKind::Approval { .. }));
        agent.decide(&id, &interrupts[0].id, Decision::Edit { arguments: json!({"text": "kind"}) }, "").await.unwrap();
        let again = open_interrupts(&agent, &id).await;
        assert!(matches!(again[0].kind, InterruptKind::External));
        assert_eq!(
            again[0].shown.arguments,
            json!({"text": "kind"}),
            "the client that executes the call does not see the replaced arguments"
        );
        assert_eq!(again[0].shown.lines[0].1, "\"kind\"");
        if is_engine(&store) {
            continue;
        }
        let person = Person::default().executing(["{\"yes\":true}"]);
        let there = agent.observer(Events::new()).operator(person.clone()).on(&store);
        let session = resume(&there, &id).await;
        assert_eq!(person.executed()[0].arguments, json!({"text": "kind"}));
        assert!(call_results(&session)[0].is_success());
    }
}

#[tokio::test]
async fn a_run_approval_covers_only_similar_calls() {
    for store in stores().await {
        let effects = Effects::new();
        let to = |amount: i64, to: &str| Turn::call("pay", json!({"amount": amount, "to": to}));
        let turns =
            [to(1, "Ann"), to(2, "Ann"), to(3, "Bob"), Turn::call("note", json!({"text": "x"})), Turn::say("ok")];
        let agent = agent(&store, tools(&effects), turns).offer_run_approval(|spec, arguments| {
            let only_to =
                |to: &serde_json::Value| ArgumentPattern([("to".to_owned(), to.clone())].into_iter().collect());
            (spec.name == "pay").then(|| only_to(&arguments["to"]))
        });
        let agent = agent.on(&store);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let interrupt = session.interrupts().next().unwrap().clone();
        assert!(matches!(&interrupt.kind, InterruptKind::Approval { offer: Some(_) }));
        session.decide(&interrupt.id, Decision::ApproveForRun, "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Suspended);
        // The second payment to Ann ran without a question, and the one to Bob waits.
        assert_eq!(effects.sorted(), ["pay 1 to Ann", "pay 2 to Ann"]);
        assert_eq!(session.interrupts().next().unwrap().shown.arguments["to"], "Bob");
        // The run approval does not cover another run.
        let (_, _, elsewhere) = start_waiting(&store, tools(&effects), to(1, "Ann")).await;
        assert_eq!(elsewhere.len(), 1);
    }
}

#[tokio::test]
async fn a_run_approval_does_not_cover_another_definition_of_the_tool() {
    for store in stores().await {
        let effects = Effects::new();
        let pay = |description: &str| {
            let seen = Arc::clone(&effects);
            let version =
                |options: &mut tool_runtime::tool::ToolOptions| options.version = Some(description.to_owned());
            let tool = RuntimeTool::new("pay", description).require_approval().options(version).handler(move |_, _| {
                seen.record("paid");
                async { Ok(json!("paid")) }
            });
            Toolset::new().with(tool.unwrap()).unwrap()
        };
        let turns = || [Turn::call("pay", json!({})), Turn::call("pay", json!({})), Turn::say("ok")];
        for (description, expected_count) in [("Pays.", 2), ("Pays double.", 1)] {
            let before = effects.all().len();
            let first = agent(&store, pay("Pays."), turns())
                .offer_run_approval(|_, _| Some(ArgumentPattern(serde_json::Map::new())))
                .on(&store);
            let mut session = first.session();
            session.send("go").await.unwrap();
            let interrupt = session.interrupts().next().unwrap().id.clone();
            session.decide(&interrupt, Decision::ApproveForRun, "").await.unwrap();
            // Use the run approval once with the unchanged tool.
            let once = agent(&store, pay("Pays."), [Turn::say("and?")]);
            resume(&once, session.id()).await;
            let now = agent(&store, pay(description), turns());
            let stopped = now.open(session.id()).await.unwrap().send("again").await.unwrap().phase;
            let expected = if expected_count == 2 { Phase::Finished } else { Phase::Suspended };
            assert_eq!(stopped, expected, "{description}");
            let ran = effects.all().len() - before;
            assert_eq!(ran, if expected_count == 2 { 3 } else { 1 });
        }
    }
}

//! Tests of who acts in a run, and for whom: agents that hand over, agents of callers, and their secrets. The process that drives the run
//! knows both from its log.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use tool_runtime::{
    Agent, Context, Message,
    agent::{Caller, Decision, Secret, Suspend},
    model::{FunctionModel, Turn},
    run::Phase,
    tool, toolset,
};

use crate::backends::{on, stores};

/// The rights that the application finds for a caller.
struct Limit(u32);

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(
    /** The amount. */
    amount: u32,
    #[context] cx: &Context,
) -> String {
    let limit = cx.get::<Limit>().map_or(0, |limit| limit.0);
    format!("{amount} of {limit} for {}", cx.principal().unwrap_or("nobody"))
}

/// Returns a model that calls the tool of the last prompt, and then repeats the result.
fn model(name: &'static str) -> FunctionModel {
    FunctionModel::new(move |request| match request.messages.last() {
        Some(Message::User { content }) => match content[0].as_text().unwrap().split_once(' ') {
            Some((tool, arguments)) => Turn::call(tool, arguments),
            None => Turn::say(format!("{name} answers")),
        },
        Some(Message::Tool(result)) => {
            let texts: String = result.content.iter().filter_map(|part| part.as_text()).collect();
            Turn::say(format!("{name}: {texts}"))
        }
        _ => Turn::say(name),
    })
}

const PAY: &str = r#"pay {"amount":5}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_of_the_caller_goes_on_after_a_decision() {
    for store in stores().await {
        let desk = Agent::new(model("desk")).operator(Suspend).for_each_caller(|agent, caller| async move {
            let limit = Limit(caller.claims["limit"].as_u64().and_then(|limit| u32::try_from(limit).ok()).unwrap_or(0));
            let agent = if limit.0 > 0 { agent.tools(toolset!(pay)) } else { agent };
            Ok(agent.edit_context(|cx| cx.with(limit)))
        });
        let desk = on(desk, &store);
        let ann = desk.for_caller(Caller::new("ann").with_claims(json!({ "limit": 50 }))).await.unwrap();
        let mut session = ann.session();
        assert_eq!(session.send(PAY).await.unwrap().phase, Phase::Suspended);
        let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        drop(session);
        desk.decide(&id, &open, Decision::Approve, "ann").await.unwrap();
        let mut session = desk.open_for_owner(&id).await.unwrap();
        assert_eq!(session.resume().await.unwrap().text, "desk: 5 of 50 for ann");
        // Another principal has no such tool.
        let mut session = desk.for_caller("ben").await.unwrap().session();
        assert_eq!(session.send(PAY).await.unwrap().text, "desk: there is no tool called `pay`");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_that_acts_goes_on_after_a_decision() {
    for store in stores().await {
        let bills = Agent::new(model("bills")).tools(toolset!(pay));
        let desk = Agent::new(model("desk")).operator(Suspend).principal("ann");
        let desk = on(desk.hands_over_to("bills", "Knows bills.", bills).unwrap(), &store);
        let mut session = desk.session();
        session.send(r#"hand_over {"to":"bills"}"#).await.unwrap();
        assert_eq!(
            (session.run().acting_agent(), session.run().last_text().starts_with("bills:")),
            (Some("bills"), true)
        );
        assert_eq!(session.send(PAY).await.unwrap().phase, Phase::Suspended);
        let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        drop(session);
        desk.decide(&id, &open, Decision::Approve, "ann").await.unwrap();
        let mut session = desk.open(&id).await.unwrap();
        assert_eq!(session.resume().await.unwrap().text, "bills: 5 of 0 for ann");
        assert_eq!(session.send("Hello").await.unwrap().text, "bills answers");
        session.hand_over(None).await.unwrap();
        assert_eq!(session.send("Hello").await.unwrap().text, "desk answers");
    }
}

/// Publishes.
#[tool(effect = write)]
fn publish(#[arg(secret)] token: String, #[context] cx: &Context) -> String {
    format!("published for {} with {token}", cx.principal().unwrap_or("nobody"))
}

/// The process that goes on asks for the secret of the run's owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_secret_goes_on_in_any_process() {
    for store in stores().await {
        let is_signed_in = Arc::new(AtomicBool::new(false));
        let signed_in = Arc::clone(&is_signed_in);
        let desk = Agent::new(model("desk")).tools(toolset!(publish)).operator(Suspend).secrets(move |caller, name| {
            let is_signed_in = signed_in.load(Ordering::SeqCst);
            let token = format!("{name} of {} {}", caller.principal, caller.claims["plan"]);
            async move { Ok(if is_signed_in { Secret::new(token) } else { Secret::missing("Sign in.", None) }) }
        });
        let desk = on(desk, &store);
        let mut session =
            desk.for_caller(Caller::new("ann").with_claims(json!({ "plan": 7 }))).await.unwrap().session();
        assert_eq!(session.send("publish {}").await.unwrap().phase, Phase::Suspended);
        let id = session.id().clone();
        drop(session);
        for is_there in [false, true] {
            is_signed_in.store(is_there, Ordering::SeqCst);
            let session = desk.open_for_owner(&id).await.unwrap();
            let open = session.interrupts().next().expect("the call waits").id.clone();
            drop(session);
            desk.decide(&id, &open, Decision::Approve, "ann").await.unwrap();
            let mut session = desk.open_for_owner(&id).await.unwrap();
            session.resume().await.unwrap();
        }
        let session = desk.open_for_owner(&id).await.unwrap();
        assert_eq!(session.run().last_text(), "desk: published for ann with token of ann 7");
        assert_eq!(session.run().calls()[0].attempts, 1);
    }
}

//! Tests of numbers with more digits than a `Value` keeps: a decision covers all digits.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, json};
use tool_runtime::{
    Context, Toolset, Validation,
    model::Turn,
    run::{ArgumentPattern, Decision, InterruptKind, Phase},
    tool, toolset,
    toolset::RuntimeTool,
};

use crate::kit::{Effects, OnBackend as _, agent, stores};

/// Returns a tool that pays to an account, whose number may be long.
fn transfer(effects: &Arc<Effects>) -> Toolset {
    let effects = Arc::clone(effects);
    let schema =
        json!({ "type": "object", "properties": { "to": { "type": "number" }, "sum": { "type": "integer" } } });
    let tool = RuntimeTool::new("transfer", "Pays.").input(schema).require_approval().handler(move |arguments, _| {
        effects.record(format!("paid {}", arguments["sum"]));
        async { Ok(json!("paid")) }
    });
    Toolset::new().with(tool.unwrap()).unwrap()
}

fn transfers(calls: &[(&str, u32)]) -> Vec<Turn> {
    let turn = |(to, sum): &(&str, u32)| Turn::default().then_call("transfer", format!(r#"{{"to":{to},"sum":{sum}}}"#));
    calls.iter().map(turn).chain([Turn::say("ok")]).collect()
}

#[tokio::test]
async fn an_approval_for_the_run_covers_no_other_number() {
    for store in stores().await {
        let effects = Effects::new();
        let turns = transfers(&[("7", 1), ("7.0", 2), ("18446744073709551617", 3), ("18446744073709551999", 4)]);
        let agent = agent(&store, transfer(&effects), turns)
            .offer_run_approval(|_, arguments| {
                Some(ArgumentPattern(Map::from_iter([("to".to_owned(), arguments["to"].clone())])))
            })
            .on(&store);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let mut offers = Vec::new();
        loop {
            let open = session.interrupts().next().cloned();
            let Some(open) = open else { break };
            let is_offered = matches!(open.kind, InterruptKind::Approval { offer: Some(_) });
            offers.push((open.shown.arguments["sum"].clone(), is_offered));
            let decision = if is_offered { Decision::ApproveForRun } else { Decision::Approve };
            session.decide(&open.id, decision, "").await.unwrap();
            session.resume().await.unwrap();
        }
        // The pattern of the first covers the second. Patterns for the others would lose digits.
        assert_eq!(offers, [(json!(1), true), (json!(3), false), (json!(4), false)]);
        assert_eq!(effects.all(), ["paid 1", "paid 2", "paid 3", "paid 4"]);
    }
}

#[tokio::test]
async fn a_pattern_with_rounded_numbers_covers_nothing() {
    let effects = Effects::new();
    let tools = transfer(&effects);
    let spec = tools.get("transfer").unwrap().spec();
    let pattern: ArgumentPattern = serde_json::from_str(r#"{"to":18446744073709551617}"#).unwrap();
    let covers = |text: &str| pattern.covers(&spec.argument_texts(&format!(r#"{{"to":{text}}}"#)).unwrap());
    assert!(!covers("18446744073709551617") && !covers("18446744073709551999"));
    let pattern = ArgumentPattern(Map::from_iter([("to".to_owned(), json!({ "b": 0.1, "a": u64::MAX }))]));
    let covers = |text: &str| pattern.covers(&spec.argument_texts(&format!(r#"{{"to":{text}}}"#)).unwrap());
    assert!(covers(r#"{ "a": 18446744073709551615, "b": 0.10 }"#));
    assert!(!covers(r#"{"a":18446744073709551614,"b":0.1}"#) && !covers("{}") && !covers("null"));
}

#[tokio::test]
async fn a_refinement_keeps_the_digits_of_unchanged_values() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = agent(&store, transfer(&effects), transfers(&[("18446744073709551617", 1)]))
            .refine_named("transfer", |arguments| drop(arguments.insert("sum".to_owned(), json!(2))))
            .on(&store);
        let mut session = agent.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        let call = &session.run().calls()[0];
        assert_eq!(&*call.arguments().text, r#"{"to":18446744073709551617,"sum":2}"#);
    }
}

/// Shows an account.
#[tool]
fn account(
    /// Its number.
    #[dynamic(validate = number)]
    number: u128,
) -> String {
    number.to_string()
}

fn number(value: Option<u128>, _: AccountNumber<'_>) -> Validation<u128> {
    match value {
        Some(value) if value % 2 == 0 => Validation::accept(value + 1),
        Some(value) => Validation::accept(value),
        None => Validation::reject("which?"),
    }
}

#[test]
fn a_validator_keeps_all_digits() {
    let (tools, cx) = (toolset!(account), Context::new("call"));
    let text = r#"{"number":18446744073709551616}"#;
    let started = tools.prepare("account", text, &cx).now_or_never().unwrap().unwrap();
    assert_eq!(started.normalized.as_deref(), Some(r#"{"number":18446744073709551617}"#));
}

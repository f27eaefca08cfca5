//! Tests of values that a model sent in another form: what is read, what the log, people and the model see of it, and when nothing is read.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_run::run::{Author, Call};
use tool_runtime::{
    Agent, Context, ExecuteWith, Failure, Toolset, Validation,
    agent::{CallOutcome, Decision, RepairedCall},
    message::AssistantPart,
    model::Turn,
    run::{ArgumentPattern, CallResult, Refusal, SupersededBy},
    tool, toolset,
    toolset::{Permission, PolicyCall, RuntimeTool},
};

use crate::kit::{
    Effects, OnBackend as _, agent, call_results, is_engine, refusal, resume, start_waiting, store, stores,
    tool_results,
};

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Whole,
    HalfHour,
}

/// Pays.
#[tool(approval = always, version = "1")]
fn pay(
    /// The amount.
    #[arg(range(1..=100))]
    amount: u8,
    /// The unit.
    unit: Option<Unit>,
    /// The receivers.
    #[arg(default)]
    to: Vec<String>,
    #[state] effects: &Effects,
) -> String {
    effects.record(format!("pay {amount} {unit:?} {to:?}"));
    format!("paid {amount}")
}

mod older {
    use super::{Effects, tool};

    /// Sends.
    #[tool(approval = always, version = "1")]
    pub(super) fn send(
        /** The number. */
        number: String,
        #[state] effects: &Effects,
    ) {
        effects.record(format!("older sends {number}"));
    }
}

/// A version that reads values, and accepts the waiting calls of the version that does not.
mod newer {
    use super::{Effects, tool};

    /// Sends.
    #[tool(approval = always, version = "2", migrate_from = ["1"], lenient)]
    pub(super) fn send(
        /** The number. */
        number: u8,
        #[state] effects: &Effects,
    ) {
        effects.record(format!("newer sends {number}"));
    }
}

/// Counts.
#[tool(effect = read_only, eager, lenient)]
fn count(
    /// To where.
    to: u8,
    #[state] effects: &Effects,
) -> u8 {
    effects.record(format!("count {to}"));
    to
}

fn strict(effects: &Arc<Effects>) -> Toolset {
    toolset!(Arc::clone(effects); pay)
}

fn lenient(effects: &Arc<Effects>) -> Toolset {
    strict(effects).lenient()
}

const SENT: &str = r#"{"amount": "5", "unit": "Half hour"}"#;
const READ: &str = r#"{"amount":5,"unit":"half_hour"}"#;

fn authors(call: &Call) -> Vec<Author> {
    call.revisions().iter().chain([call.arguments()]).map(|revision| revision.author).collect()
}

/// Returns the texts of the arguments in the conversation.
fn sent_arguments(session: &tool_runtime::agent::Session) -> Vec<String> {
    let parts = session.messages().iter().flat_map(|message| match message {
        tool_runtime::Message::Assistant { content } => content.clone(),
        _ => Vec::new(),
    });
    let arguments = |part| match part {
        AssistantPart::Call(call) => Some(call.arguments),
        _ => None,
    };
    parts.filter_map(arguments).collect()
}

#[tokio::test]
async fn the_read_values_are_shown_approved_and_run() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, open) = start_waiting(&store, lenient(&effects), Turn::call("pay", SENT)).await;
        assert_eq!(open[0].shown.arguments, json!({"amount": 5, "unit": "half_hour", "to": []}));
        agent.decide(&id, &open[0].id, Decision::Approve, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(effects.all(), ["pay 5 Some(HalfHour) []"]);
        let call = &session.run().calls()[0];
        assert_eq!((&*call.revisions()[0].text, &*call.arguments().text), (SENT, READ));
        assert_eq!(authors(call), [Author::Model, Author::Reading]);
        assert_eq!(sent_arguments(&session), [SENT], "the conversation keeps what the model sent");
        let notes = concat!("note: amount: read \"5\" as 5\n", "note: unit: read \"Half hour\" as \"half_hour\"");
        assert_eq!(tool_results(&session), [format!("paid 5{notes}")]);
    }
}

#[tokio::test]
async fn nothing_is_read_without_the_option_or_a_single_meaning() {
    for (tools, sent) in [
        (strict as fn(&Arc<Effects>) -> Toolset, SENT),
        (lenient, r#"{"amount": "+5"}"#),
        (lenient, r#"{"amount": "05"}"#),
        (lenient, r#"{"amount": "500"}"#),
        (lenient, r#"{"amount": 5, "to": "[\"Ann\"]"}"#),
        (lenient, r#"{"amount": "5", "to": "Ann"}"#),
        (lenient, r#"{"amount": "5", "amount": "6"}"#),
    ] {
        let effects = Effects::new();
        let (agent, id, open) = start_waiting(&store(), tools(&effects), Turn::call("pay", sent)).await;
        assert!(open.is_empty(), "{sent}");
        let session = agent.open(&id).await.unwrap();
        let results = call_results(&session);
        let [CallResult::Rejected { feedback }] = &results[..] else { panic!("{sent}: {results:?}") };
        assert!(feedback.remarks().is_empty(), "{sent}: {feedback}");
        assert_eq!(authors(&session.run().calls()[0]), [Author::Model]);
    }
}

#[tokio::test]
async fn a_call_that_waits_is_not_read_again_under_another_setting() {
    for store in stores().await {
        for was_lenient in [true, false] {
            for is_approved in [false, true].into_iter().filter(|is_approved| *is_approved || !is_engine(&store)) {
                let effects = Effects::new();
                let (before, after) = if was_lenient {
                    (lenient(&effects), strict(&effects))
                } else {
                    (strict(&effects), lenient(&effects))
                };
                let turn = Turn::call("pay", if was_lenient { SENT } else { READ });
                let (agent, id, open) = start_waiting(&store, before, turn).await;
                if is_approved {
                    agent.decide(&id, &open[0].id, Decision::Approve, "").await.unwrap();
                }
                let session = resume(&agent.tools(after).on(&store), &id).await;
                assert_eq!(call_results(&session), [CallResult::Superseded { by: SupersededBy::ToolChanged }]);
                assert_eq!(effects.all(), [""; 0]);
                assert_eq!(session.run().calls()[0].revisions().len(), usize::from(was_lenient));
            }
        }
    }
}

/// The newer version accepts the waiting call, but its text no longer fits without a reading.
#[tokio::test]
async fn a_call_that_moves_to_a_newer_version_is_not_read() {
    for store in stores().await {
        for is_approved in [false, true].into_iter().filter(|is_approved| *is_approved || !is_engine(&store)) {
            let effects = Effects::new();
            let tools = toolset!(Arc::clone(&effects); older::send);
            let (agent, id, open) = start_waiting(&store, tools, Turn::call("send", r#"{"number":"5"}"#)).await;
            if is_approved {
                agent.decide(&id, &open[0].id, Decision::Approve, "").await.unwrap();
            }
            let agent = agent.tools(toolset!(Arc::clone(&effects); newer::send)).on(&store);
            let session = resume(&agent, &id).await;
            let results = call_results(&session);
            assert!(
                matches!(results[..], [CallResult::Rejected { .. } | CallResult::Superseded { .. }]),
                "{is_approved}: {results:?}"
            );
            assert_eq!(authors(&session.run().calls()[0]), [Author::Model]);
            assert_eq!(effects.all(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn the_edit_of_a_person_is_never_read() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, open) = start_waiting(&store, lenient(&effects), Turn::call("pay", SENT)).await;
        let edit = |arguments| Decision::Edit { arguments };
        let refused = refusal(agent.decide(&id, &open[0].id, edit(json!({"amount": "6"})), "").await);
        assert!(matches!(refused, Refusal::Invalid { .. }), "{refused:?}");
        agent.decide(&id, &open[0].id, edit(json!({"amount": 6})), "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(effects.all(), ["pay 6 None []"]);
        let expected = "A person changed the arguments to {\"amount\":6} before the call ran.paid 6";
        assert_eq!(tool_results(&session), [expected], "the readings are void");
    }
}

/// Returns a tool that is defined at run time, with the origin of a remote one.
fn at_run_time(origin: Option<&str>, effects: &Arc<Effects>) -> Toolset {
    let effects = Arc::clone(effects);
    let schema = json!({
        "type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"], "additionalProperties": false,
    });
    let mut tool = RuntimeTool::new("pay", "Pays.").input(schema).options(|options| options.lenient = true);
    if let Some(origin) = origin {
        tool = tool.origin(origin);
    }
    let tool = tool.handler(move |_, _| {
        effects.record("ran");
        async { Ok(json!("paid")) }
    });
    Toolset::new().with(tool.unwrap()).unwrap().lenient()
}

#[tokio::test]
async fn tools_from_elsewhere_are_not_read() {
    for origin in [None, Some("https://elsewhere.example")] {
        let effects = Effects::new();
        let tools = at_run_time(origin, &effects);
        let mut session = agent(&store(), tools, [Turn::call("pay", r#"{"amount": "5"}"#), Turn::say("ok")]).session();
        session.send("go").await.unwrap();
        assert!(matches!(call_results(&session)[..], [CallResult::Rejected { .. }]));
        assert_eq!(effects.all(), [""; 0]);
    }
}

#[tokio::test]
async fn eager_calls_are_read_and_the_conversation_keeps_what_was_sent() {
    for store in stores().await {
        let effects = Effects::new();
        let turns = [Turn::call("count", r#"{"to":"3"}"#).then_call("count", r#"{"to":"+3"}"#), Turn::say("ok")];
        let agent = agent(&store, toolset!(Arc::clone(&effects); count), turns);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        assert_eq!(effects.all(), ["count 3"]);
        assert_eq!(sent_arguments(&session), [r#"{"to":"3"}"#, r#"{"to":"+3"}"#]);
        assert_eq!(tool_results(&session)[0], "3note: to: read \"3\" as 3");
        assert_eq!(session.run().calls()[0].readings(), ["to: read \"3\" as 3"]);
        assert!(tool_results(&session)[1].starts_with("The call was rejected."));
        assert_eq!(agent.open(session.id()).await.unwrap().messages(), session.messages());
    }
}

#[tokio::test]
async fn policies_and_patterns_see_the_read_values() {
    let (effects, seen) = (Effects::new(), Arc::new(Mutex::new(Vec::new())));
    let texts = Arc::clone(&seen);
    let turns = [Turn::call("pay", SENT), Turn::call("pay", r#"{"amount":"5","unit":"whole"}"#), Turn::say("ok")];
    let agent = agent(&store(), lenient(&effects), turns)
        .policy(move |call: &PolicyCall<'_>| {
            texts.lock().unwrap().push(call.arguments.to_owned());
            Permission::Allow
        })
        .offer_run_approval(|_, arguments| {
            Some(ArgumentPattern([("amount".to_owned(), arguments["amount"].clone())].into_iter().collect()))
        })
        .anywhere();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    agent.decide(session.id(), &open, Decision::ApproveForRun, "").await.unwrap();
    resume(&agent, session.id()).await;
    assert_eq!(effects.all(), ["pay 5 Some(HalfHour) []", "pay 5 Some(Whole) []"]);
    assert!(seen.lock().unwrap().iter().all(|text| text.starts_with(r#"{"amount":5,"#)), "{seen:?}");
}

#[tokio::test]
async fn a_call_from_outside_is_read_and_its_result_says_so() {
    let effects = Effects::new();
    let agent = Agent::tools_only(toolset!(Arc::clone(&effects); count));
    let CallOutcome::Ended(ended) = agent.call("count", r#"{"to":"3"}"#).await.unwrap() else {
        panic!("it asks nobody")
    };
    assert_eq!(ended.readings, ["to: read \"3\" as 3"]);
    assert_eq!(ended.for_model()[1].as_text(), Some("note: to: read \"3\" as 3"));
}

/// Orders things.
#[tool(state = Effects, lenient)]
struct Order {
    /// The thing to order.
    #[dynamic(validate = thing)]
    thing: String,
    /// The number of items.
    #[dynamic(validate = number, requires(thing))]
    number: u64,
}

fn thing(value: Option<String>, _: OrderThing<'_>) -> Validation<String> {
    match value {
        Some(value) => Validation::accept(value.to_uppercase()),
        None => Validation::reject("what?"),
    }
}

fn number(value: Option<u64>, _: OrderNumber<'_>) -> Validation<u64> {
    match value {
        Some(value) if value < 10 => Validation::accept(value),
        _ => Validation::reject("at most 9"),
    }
}

impl ExecuteWith<Effects> for Order {
    type Output = String;
    type Error = Failure;

    async fn execute(self, effects: &Effects, _cx: &Context) -> Result<String, Failure> {
        effects.record(format!("{} {}", self.number, self.thing));
        Ok("ordered".to_owned())
    }
}

/// A part of an order.
#[derive(tool_runtime::DynamicInput)]
struct Part {
    /// The number of items.
    #[dynamic(validate = part)]
    number: u64,
}

fn part(value: Option<u64>, _: PartNumber<'_>) -> Validation<u64> {
    value.map_or_else(|| Validation::reject("how many?"), Validation::accept)
}

/// Orders parts.
#[tool(lenient)]
fn order_parts(
    /// The parts.
    #[dynamic(nested)]
    parts: Vec<Part>,
    #[state] effects: &Effects,
) {
    effects.record(format!("{:?}", parts.iter().map(|part| part.number).collect::<Vec<_>>()));
}

#[tokio::test]
async fn elements_are_read_before_their_validators() {
    let effects = Effects::new();
    let turns = [Turn::call("order_parts", r#"{"parts":[{"number":"5"},{"number":6}]}"#), Turn::say("done")];
    let mut session = agent(&store(), toolset!(Arc::clone(&effects); order_parts), turns).session();
    session.send("go").await.unwrap();
    assert_eq!(effects.all(), ["[5, 6]"], "{:?}", tool_results(&session));
}

#[tokio::test]
async fn values_are_read_before_validators_and_refinements() {
    let effects = Effects::new();
    let turns = [
        Turn::call("Order", r#"{"thing":"pears","number":"5"}"#),
        Turn::call("Order", r#"{"thing":"pears","number":"50"}"#),
        Turn::call("count", r#"{"to":"3"}"#),
        Turn::say("ok"),
    ];
    let tools = toolset!(Arc::clone(&effects); Order, count);
    let agent = agent(&store(), tools, turns)
        .refine::<count>(|input, arguments| {
            arguments.insert("to".into(), (input.to + 1).into());
        })
        .anywhere();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(effects.all(), ["5 PEARS", "count 4"]);
    let calls = session.run().calls();
    assert_eq!(authors(&calls[0]), [Author::Model, Author::Reading, Author::Validators]);
    assert_eq!(authors(&calls[2]), [Author::Model, Author::Reading, Author::Refinement]);
    let texts = tool_results(&session);
    assert!(texts[0].ends_with("note: number: read \"5\" as 5"), "{texts:?}");
    assert!(texts[1].contains("\nnote: number: read \"50\" as 50\n"), "a rejection says how it was read: {texts:?}");
    assert_eq!(texts[2], "4note: to: read \"3\" as 3");
}

#[tokio::test]
async fn a_repair_of_the_application_is_not_read() {
    for (by_model, expected) in [(false, 0), (true, 1)] {
        let effects = Effects::new();
        let mut turns =
            vec![Turn::call("count", r#"{"to": 3"#), Turn::call("count", r#"{"to": "4"}"#), Turn::say("ok")];
        if !by_model {
            turns.remove(1);
        }
        let agent = agent(&store(), toolset!(Arc::clone(&effects); count), turns);
        let repaired = |_| async { Some(RepairedCall::arguments(json!({"to": "4"}))) };
        let agent = if by_model { agent.repair_by_model() } else { agent.repair(repaired) };
        let mut session = agent.anywhere().session();
        session.send("go").await.unwrap();
        assert_eq!(effects.count("count 4"), expected);
    }
}

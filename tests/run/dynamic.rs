//! Tests of a call's validators in a run: before an approval, after an edit, and before the start.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

use serde_json::json;
use tool_runtime::{
    Context, DynamicInput, ExecuteWith, Failure, Toolset, Validation,
    agent::Decision,
    model::Turn,
    run::{CallResult, InterruptKind, Refusal, SupersededBy},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

use crate::kit::{
    Effects, agent, call_results, open_interrupts, refusal, resume, sleep_millis, start_waiting, stores, tool_results,
    wait_until,
};

/// The state of the validators.
#[derive(Default)]
pub(crate) struct Shop {
    effects: Arc<Effects>,
    /// Set while the validator of `count` must not answer.
    pub(crate) held: AtomicBool,
    stock: AtomicU64,
    /// A suffix for names, which changes their normalized values.
    suffix: AtomicU64,
}

/// Orders things.
#[tool(state = Shop, approval = always, timeout = "60s")]
struct Order {
    /// The thing to order.
    #[dynamic(validate = thing)]
    thing: String,
    /// The number of items.
    #[dynamic(validate = count, requires(thing))]
    count: u64,
}

fn thing(value: Option<String>, known: OrderThing<'_>) -> Validation<String> {
    known.state().effects.record("asked");
    let Some(value) = value else { return Validation::reject("what?").allowed(["APPLES".to_owned()]) };
    match known.state().suffix.load(SeqCst) {
        0 => Validation::accept(value.to_uppercase()),
        more => Validation::accept(format!("{}{more}", value.to_uppercase())),
    }
}

async fn count(value: Option<u64>, known: OrderCount<'_>) -> Result<Validation<u64>, Failure> {
    let shop = known.state();
    while shop.held.load(SeqCst) {
        sleep_millis(10).await;
    }
    let stock = shop.stock.load(SeqCst);
    Ok(match value {
        Some(count) if count <= stock => Validation::accept(count),
        Some(_) => Validation::reject(format!("only {stock} are left")),
        None => Validation::reject("how many?"),
    })
}

impl ExecuteWith<Shop> for Order {
    type Output = String;
    type Error = Failure;

    async fn execute(self, shop: &Shop, _cx: &Context) -> Result<String, Failure> {
        shop.effects.record(format!("{} {}", self.count, self.thing));
        Ok("ordered".to_owned())
    }
}

/// Says something at once.
#[tool]
async fn shout(#[state] shop: &Shop) -> &'static str {
    shop.effects.record("shout");
    "ah"
}

pub(crate) fn shop() -> Arc<Shop> {
    let shop = Shop::default();
    shop.stock.store(5, SeqCst);
    Arc::new(shop)
}

pub(crate) fn tools(shop: &Arc<Shop>) -> Toolset {
    toolset!(Arc::clone(shop); Order, shout)
}

pub(crate) const ORDER: &str = r#"{"thing":"apples","count":2}"#;

#[tokio::test]
async fn normalized_arguments_are_shown_approved_and_run() {
    for store in stores().await {
        let shop = shop();
        let (agent, id, interrupts) = start_waiting(&store, tools(&shop), Turn::call("Order", ORDER)).await;
        assert_eq!(interrupts[0].shown.arguments, json!({ "thing": "APPLES", "count": 2 }));
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(shop.effects.all().last().unwrap(), "2 APPLES");
        // The output is bare, and the remark is a text after it.
        let remark = "orderednote: `thing` is understood as \"APPLES\"";
        assert_eq!(tool_results(&session), [remark]);
        assert_eq!(session.run().calls()[0].revisions()[0].text.as_ref(), ORDER);
    }
}

/// Sends something from the stock, which a validator looks up.
#[tool(approval = always)]
async fn send(
    /// The place.
    #[dynamic(validate = look_up, derives(stock: u64))]
    place: String,
    #[derived] stock: u64,
    #[state] shop: &Shop,
) -> String {
    shop.effects.record(format!("{stock} to {place}"));
    "sent".to_owned()
}

fn look_up(value: Option<String>, known: SendPlace<'_>) -> Validation<String, u64> {
    match value {
        Some(place) => Validation::accept(place).derive(known.shop.stock.load(SeqCst)),
        None => Validation::reject("where?"),
    }
}

#[tokio::test]
async fn derived_data_is_computed_again_before_a_call_that_waited_runs() {
    for store in stores().await {
        let shop = shop();
        let tools = toolset!(Arc::clone(&shop); send);
        let (agent, id, interrupts) = start_waiting(&store, tools, Turn::call("send", r#"{"place":"Rome"}"#)).await;
        assert_eq!(interrupts[0].shown.arguments, json!({ "place": "Rome" }));
        shop.stock.store(3, SeqCst);
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        resume(&agent, &id).await;
        assert_eq!(shop.effects.all().last().unwrap(), "3 to Rome");
    }
}

/// An item of a list.
#[derive(DynamicInput)]
#[dynamic_input(state = Shop)]
struct Item {
    /// The thing to order.
    #[dynamic(validate = item)]
    thing: String,
}

fn item(value: Option<String>, known: ItemThing<'_>) -> Validation<String> {
    let stock = known.state().stock.load(SeqCst);
    match value {
        Some(value) if stock > 0 => Validation::accept(value.to_uppercase()),
        _ => Validation::reject(format!("{stock} are left")),
    }
}

/// Orders some things.
#[tool(approval = always)]
fn order_all(
    /// The items.
    #[dynamic(nested)]
    items: Vec<Item>,
    #[state] shop: &Shop,
) -> &'static str {
    shop.effects.record(items.iter().map(|item| item.thing.as_str()).collect::<Vec<_>>().join(" "));
    "ordered"
}

const ITEMS: &str = r#"{"items":[{"thing":"PEARS"},{"thing":"apples"}]}"#;

#[tokio::test]
async fn elements_of_a_list_are_normalized_edited_and_validated_again() {
    for store in stores().await {
        let shop = shop();
        let tools = || toolset!(Arc::clone(&shop); order_all);
        let (agent, id, interrupts) = start_waiting(&store, tools(), Turn::call("order_all", ITEMS)).await;
        assert_eq!(interrupts[0].shown.arguments, json!({ "items": [{ "thing": "PEARS" }, { "thing": "APPLES" }] }));
        let edit = |items| Decision::Edit { arguments: json!({ "items": items }) };
        let wrong = edit(json!([{ "thing": "PEARS" }, { "thing": 7 }]));
        let Refusal::Invalid { feedback } = refusal(agent.decide(&id, &interrupts[0].id, wrong, "").await) else {
            panic!("the edit is wrong");
        };
        assert!(feedback.lines()[0].starts_with("`items.1.thing`: expected a string"), "{feedback}");
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert_eq!(shop.effects.all(), ["PEARS APPLES"]);
        assert_eq!(tool_results(&session), ["orderednote: `items.1.thing` is understood as \"APPLES\""]);

        let (agent, id, interrupts) = start_waiting(&store, tools(), Turn::call("order_all", ITEMS)).await;
        shop.stock.store(0, SeqCst);
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert!(tool_results(&session)[0].contains("items.1.thing: 0 are left"), "{:?}", tool_results(&session));
        assert_eq!(shop.effects.all(), ["PEARS APPLES"]);
    }
}

#[tokio::test]
async fn no_person_is_asked_about_calls_that_a_validator_refuses() {
    for store in stores().await {
        let shop = shop();
        let turns =
            [Turn::call("Order", "{}"), Turn::call("Order", r#"{"thing":"pears","count":6}"#), Turn::say("done")];
        let mut session = agent(&store, tools(&shop), turns).session();
        session.send("go").await.unwrap();
        assert_eq!(session.interrupts().count(), 0);
        let rejected = "The call was rejected. Correct these problems and call again:\n";
        let first = concat!(
            "thing: what?; choose from \"APPLES\"\n",
            "count: cannot be judged before `thing`\n",
            r#"Call it like this: {"name": "Order", "arguments": {"thing": "APPLES", "count": <integer>}}"#,
        );
        let second = concat!(
            "thing: ok; understood as \"PEARS\"\n",
            "count: only 5 are left\n",
            r#"Call it like this: {"name": "Order", "arguments": {"thing": "PEARS", "count": <integer>}}"#,
        );
        assert_eq!(tool_results(&session), [first, second].map(|text| format!("{rejected}{text}")));
        assert!(call_results(&session).iter().all_and_some(|end| matches!(end, CallResult::Rejected { .. })));
    }
}

#[tokio::test]
async fn an_edit_is_validated_and_the_person_sees_its_problems() {
    for store in stores().await {
        let shop = shop();
        let (agent, id, interrupts) = start_waiting(&store, tools(&shop), Turn::call("Order", ORDER)).await;
        let edit = |arguments| Decision::Edit { arguments };
        let wrong = edit(json!({ "thing": "pears", "count": 9 }));
        let refused = refusal(agent.decide(&id, &interrupts[0].id, wrong, "").await);
        let Refusal::Invalid { feedback } = refused else { panic!("{refused:?}") };
        assert!(feedback.lines().contains(&"`count`: only 5 are left".to_owned()), "{feedback}");
        assert_eq!(open_interrupts(&agent, &id).await, interrupts, "a refused edit leaves the interrupt open");
        agent.decide(&id, &interrupts[0].id, edit(json!({ "thing": "pears", "count": 3 })), "").await.unwrap();
        resume(&agent, &id).await;
        assert_eq!(shop.effects.all().last().unwrap(), "3 PEARS");
    }
}

#[tokio::test]
async fn a_validator_is_asked_again_before_the_start() {
    for store in stores().await {
        let shop = shop();
        let (agent, id, interrupts) = start_waiting(&store, tools(&shop), Turn::call("Order", ORDER)).await;
        shop.stock.store(1, SeqCst);
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert!(tool_results(&session)[0].contains("only 1 are left"), "{:?}", tool_results(&session));
        assert!(shop.effects.all().iter().all_and_some(|seen| seen == "asked"), "{:?}", shop.effects.all());
    }
}

#[tokio::test]
async fn arguments_normalized_after_the_approval_do_not_run() {
    for store in stores().await {
        let shop = shop();
        let (agent, id, interrupts) = start_waiting(&store, tools(&shop), Turn::call("Order", ORDER)).await;
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        shop.suffix.store(7, SeqCst);
        let session = resume(&agent, &id).await;
        let by = SupersededBy::ArgumentsChanged;
        assert_eq!(call_results(&session), [CallResult::Superseded { by }]);
        assert!(shop.effects.all().iter().all_and_some(|seen| seen == "asked"));
    }
}

#[tokio::test]
async fn earlier_calls_do_not_wait_for_a_validator() {
    for store in stores().await {
        let shop = shop();
        shop.held.store(true, SeqCst);
        let turn = Turn::call("shout", "{}").then_call("Order", ORDER);
        let agent = agent(&store, tools(&shop), [turn, Turn::say("done")]);
        let effects = Arc::clone(&shop.effects);
        let sent = tokio::spawn(async move {
            let mut session = agent.session();
            session.send("go").await.unwrap();
            session.interrupts().map(|open| matches!(open.kind, InterruptKind::Approval { .. })).collect::<Vec<_>>()
        });
        wait_until(|| effects.count("shout") == 1).await;
        assert!(!sent.is_finished(), "the validator of the order has not answered");
        shop.held.store(false, SeqCst);
        assert_eq!(sent.await.unwrap(), [true]);
    }
}

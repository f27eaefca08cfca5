//! Conversations of a scripted model: an answer leads to the next call, and a person decides about money.

use serde_json::json;
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    test::{Events, EveryToolModel, Person},
};

use crate::{Fixture, mia, to_paris, with};

#[tokio::test]
async fn a_model_corrects_a_booking_and_a_person_allows_it() {
    let desk = Fixture::new();
    let wrong = with(to_paris(), json!({"customer": null, "bags": 9, "paid_bags": null, "payments": null}));
    let right = with(to_paris(), json!({"customer": null}));
    let card = json!([{"method": "card_7447", "cents": 12500}]);
    let model = ScriptedModel::new([
        Turn::call("search_flights", r#"{"from": "London", "to": "Paris", "date": "2026-12-02"}"#)
            .then_call("look_up_customer", "{}"),
        Turn::call("book_flights", wrong.to_string()),
        Turn::call("book_flights", right.to_string()),
        // It repeats itself. The check of the whole call rejects that, and nobody is asked again.
        Turn::call("book_flights", with(right, json!({"payments": card})).to_string()),
        Turn::say("It is booked."),
    ]);
    let (person, events) = (Person::approving(), Events::new());
    let agent = Agent::new(model.clone()).tools(desk.tools.clone()).principal("mia_olsen");
    let agent = agent.operator(person.clone()).observer(events.clone());
    assert_eq!(agent.run("Book me a flight to Paris, with three bags.").await.unwrap().text, "It is booked.");

    let approvals = person.approvals();
    let asked = approvals[0].interrupt.shown.challenge.clone();
    assert_eq!(approvals.len(), 1);
    assert_eq!(asked.as_deref(), Some(r#"Book flights from "London" to "Paris" in "economy" for "mia_olsen"?"#));
    events.assert_order(&[
        "call_2_0 book_flights",
        "opened call_3_0 book_flights",
        "decided",
        "started call_3_0 book_flights",
    ]);
    assert_eq!(desk.books().bookings[4].customer, "mia_olsen");
}

#[tokio::test]
async fn a_denied_booking_changes_nothing_and_a_last_seat_may_go_while_a_person_thinks() {
    let desk = Fixture::new();
    let before = desk.books();
    let call = || Turn::call("book_flights", to_paris().to_string());
    let agent = Agent::new(ScriptedModel::new([call(), Turn::say("Not booked.")])).tools(desk.tools.clone());
    agent.operator(Person::denying("too expensive")).run("Book it.").await.unwrap();
    assert_eq!(desk.books(), before);

    let (model, books) = (ScriptedModel::new([call(), Turn::say("It is full.")]), desk.desk.clone());
    let person = Person::with_rule(move |_| {
        books.books().flights[2].fares[1].seats = 0;
        tool_runtime::agent::Decision::Approve
    });
    Agent::new(model.clone()).tools(desk.tools.clone()).operator(person).run("Book it.").await.unwrap();
    assert_eq!(desk.books().bookings, before.bookings);
    let answer = format!("{:?}", model.requests().last());
    assert!(answer.contains("TA110 has 0 free seats in economy, not 1"), "{answer}");
}

#[tokio::test]
async fn every_tool_rejects_what_its_schema_forbids() {
    let desk = Fixture::new();
    let flights = json!([{"number": "TA110", "date": "2026-12-02"}, {"number": "TA302", "date": "2026-12-06"}]);
    let model = EveryToolModel::new()
        .with_near_misses()
        .arguments("search_flights", json!({"from": "London", "to": "Paris", "date": "2026-12-05", "seats": 2}))
        .arguments("look_up_customer", json!({"customer": "mia_olsen"}))
        .arguments("look_up_booking", json!({"booking": "B1002"}))
        .arguments("book_flights", to_paris())
        .arguments(
            "change_flights",
            json!({"booking": "B1003", "flights": flights, "cabin": "economy", "method": "card_9015"}),
        )
        .arguments("add_bags", json!({"booking": "B1003", "bags": 7, "paid_bags": 1, "method": "card_9015"}))
        .arguments("change_passengers", json!({"booking": "B1001", "passengers": [mia()]}))
        .arguments("cancel_booking", json!({"booking": "B1003", "reason": "illness"}))
        .arguments("compensate", json!({"booking": "B1001", "cents": 10000}));
    let agent = Agent::new(model.clone()).tools(desk.tools.clone()).operator(Person::approving());
    let mut session = agent.session();
    session.send("Go.").await.unwrap();
    model.assert_rejections(session.run());
}

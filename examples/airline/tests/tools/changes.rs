//! Right calls, and what they change in the data.

use std::sync::{Arc, Barrier};
use std::thread;

use airline::book::book_flights;
use airline::cancel::{cancel_booking, compensate};
use airline::change::{add_bags, change_flights, change_passengers};
use airline::data::{Booking, Books, Cabin, Passenger, Payment, Reason, Trip};
use chrono::TimeDelta;
use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::{Fixture, mia, to_paris, with};

/// Returns the differences of two records, each as `path: before -> after`.
fn differences(before: &Books, after: &Books) -> Vec<String> {
    let mut found = Vec::new();
    compare(&json!(before), &json!(after), "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            assert_eq!(one.len(), other.len());
            one.iter().for_each(|(name, value)| compare(value, &other[name], &format!("{path}/{name}"), found));
        }
        (Value::Array(one), Value::Array(other)) => {
            for at in 0..one.len().max(other.len()) {
                let item = |list: &[Value]| list.get(at).cloned().unwrap_or(Value::Null);
                compare(&item(one), &item(other), &format!("{path}/{at}"), found);
            }
        }
        (before, after) if before != after => found.push(format!("{path}: {before} -> {after}")),
        _ => {}
    }
}

#[tokio::test]
async fn a_booking_takes_seats_and_money() {
    let desk = Fixture::new();
    let before = desk.books();
    let booked = desk.call("book_flights", to_paris()).await.unwrap();
    assert_eq!(
        differences(&before, &desk.books()),
        [
            "/flights/2/fares/1/seats: 7 -> 6".to_owned(),
            "/customers/0/methods/1/cents: 12000 -> 7000".to_owned(),
            // What is left of a voucher is lost.
            "/customers/0/methods/2/cents: 30000 -> 0".to_owned(),
            format!("/bookings/4: null -> {booked}"),
        ]
    );
    let mut expected = with(
        to_paris(),
        json!({
            "code": "B1005", "trip": "one_way", "fare": 6000, "booked": "2026-12-01T12:00:00", "is_compensated": false,
            "payments": null, "charges": to_paris()["payments"],
        }),
    );
    expected["cancelled"] = Value::Null;
    assert_eq!(booked, expected);
    // A model that repeats the call books nothing twice.
    let again = with(to_paris(), json!({"payments": [{"method": "card_7447", "cents": 12500}]}));
    assert_eq!(
        desk.call("book_flights", again).await,
        Err("call: B1005 has one of these passengers on one of these flights".to_owned())
    );
}

#[tokio::test]
async fn a_round_trip_with_a_change_of_planes_and_defaults() {
    let desk = Fixture::new();
    let call = json!({
        "customer": "ines@example.com", "from": "london", "to": "paris", "trip": "round_trip", "cabin": "economy",
        "flights": [{"number": "ta110", "date": "2026-12-02"}, {"number": "TA302", "date": "2026-12-06"}],
        "passengers": [{"first_name": "Ines", "last_name": "Braga", "born": "1994-11-12"}], "bags": 3,
        "payments": [{"method": "card_9015", "cents": 11500}],
    });
    // She is on TA302 already, with another booking.
    assert_eq!(
        desk.call("book_flights", call.clone()).await,
        Err("call: B1003 has one of these passengers on one of these flights".to_owned())
    );
    desk.call("cancel_booking", json!({"booking": "B1003", "reason": "illness"})).await.unwrap();
    let booked: Booking = serde_json::from_value(desk.call("book_flights", call).await.unwrap()).unwrap();
    assert_eq!(
        (booked.customer.as_str(), booked.from.as_str(), booked.flights[0].number.as_str()),
        ("ines_braga", "London", "TA110")
    );
    assert_eq!((booked.bags, booked.paid_bags, booked.insurance, booked.fare), (3, 0, false, 11500));
}

fn last_seat(customer: &str, card: &str, first_name: &str) -> Value {
    let passenger = with(mia(), json!({"first_name": first_name}));
    json!({
        "customer": customer, "from": "Tokyo", "to": "Paris", "flights": [{"number": "TA501", "date": "2026-12-08"}],
        "cabin": "economy", "passengers": [passenger], "payments": [{"method": card, "cents": 59000}],
    })
}

#[test]
fn of_two_calls_at_once_one_gets_the_last_seat() {
    let calls = [last_seat("mia_olsen", "card_7447", "Mia"), last_seat("omar_haddad", "card_2201", "Pia")];
    for _ in 0..20 {
        let (desk, barrier) = (Arc::new(Fixture::new()), Arc::new(Barrier::new(2)));
        let running = calls.clone().map(|call| {
            let (desk, barrier) = (desk.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                desk.call("book_flights", call).now_or_never().expect("nothing in it waits")
            })
        });
        let results = running.map(|thread| thread.join().unwrap());
        let refused: Vec<&String> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert_eq!(refused.len(), 1, "{results:?}");
        assert!(refused[0].contains("TA501 has 0 free seats in economy, not 1"), "{refused:?}");
        assert_eq!((desk.books().flights[11].seats(Cabin::Economy), desk.books().bookings.len()), (0, 5));
    }
}

/// A tool is a function. Called without its validators, it finds what they found before the other call ran.
#[test]
fn a_call_whose_validators_ran_too_early_is_rejected() {
    let desk = Fixture::new();
    let book = |first_name: &str, number: &str, cents: i64| {
        let books = desk.books();
        let flight = books.flights.iter().find(|flight| flight.number == number && flight.leaves > books.now).unwrap();
        let passenger = Passenger { first_name: first_name.to_owned(), ..serde_json::from_value(mia()).unwrap() };
        let payments = vec![Payment { method: "gift_1189".to_owned(), cents }];
        let (from, to) = (flight.from.clone(), flight.to.clone());
        let (flights, itinerary, account) = (vec![flight.choice()], vec![flight.clone()], books.customers[0].clone());
        book_flights(
            "mia_olsen".to_owned(),
            from,
            to,
            Trip::OneWay,
            flights,
            Cabin::Economy,
            vec![passenger],
            0,
            0,
            false,
            payments,
            itinerary,
            account,
            &desk.desk,
        )
        .map_err(|rejection| rejection.to_text())
    };
    book("Mia", "TA501", 100).unwrap();
    let full = "cabin: TA501 has 0 free seats in economy, not 1, since another call was faster";
    assert_eq!(book("Pia", "TA501", 100).unwrap_err(), full);
    assert_eq!(
        book("Mia", "TA501", 100).unwrap_err(),
        "call: B1005 has one of these passengers on one of these flights"
    );
    book("Mia", "TA110", 11_000).unwrap();
    let spent = "payments: payments[0]: gift_1189 has 9.00 euros left, not 110.00 euros, since another call was faster";
    assert_eq!(book("Pia", "TA110", 11_000).unwrap_err(), spent);
    assert_eq!(desk.books().bookings.len(), 6);
}

#[tokio::test]
async fn a_change_of_flights_moves_seats_and_pays_the_difference() {
    let desk = Fixture::new();
    let before = desk.books();
    let call = json!({
        "booking": "b1003", "method": "gift_4410",
        "flights": [{"number": "TA110", "date": "2026-12-02"}, {"number": "TA302", "date": "2026-12-06"}],
    });
    desk.call("change_flights", call).await.unwrap();
    assert_eq!(
        differences(&before, &desk.books()),
        [
            "/flights/2/fares/1/seats: 7 -> 5",
            "/flights/3/fares/1/seats: 3 -> 5",
            "/customers/2/methods/1/cents: 5000 -> 8000",
            r#"/bookings/2/flights/0/date: "2026-12-05" -> "2026-12-02""#,
            "/bookings/2/fare: 26000 -> 23000",
            r#"/bookings/2/charges/2: null -> {"method":"gift_4410","cents":-3000}"#,
        ]
    );
}

#[tokio::test]
async fn bags_are_added_once() {
    let desk = Fixture::new();
    let before = desk.books();
    let call = json!({"booking": "B1003", "bags": 7, "method": "gift_4410"});
    desk.call("add_bags", call.clone()).await.unwrap();
    let after = desk.books();
    assert_eq!(
        differences(&before, &after),
        [
            "/customers/2/methods/1/cents: 5000 -> 1000",
            "/bookings/2/bags: 4 -> 7",
            "/bookings/2/paid_bags: 0 -> 1",
            r#"/bookings/2/charges/2: null -> {"method":"gift_4410","cents":4000}"#,
        ]
    );
    // `bags` is the number of all bags, so a repeated call changes nothing. The tool is declared `idempotent`.
    desk.call("add_bags", call).await.unwrap();
    assert_eq!(differences(&after, &desk.books()), [""; 0]);
}

#[tokio::test]
async fn names_are_corrected() {
    let desk = Fixture::new();
    let before = desk.books();
    let passenger = with(mia(), json!({"last_name": "Olsson"}));
    desk.call("change_passengers", json!({"booking": "B1001", "passengers": [passenger]})).await.unwrap();
    assert_eq!(differences(&before, &desk.books()), [r#"/bookings/0/passengers/0/last_name: "Olsen" -> "Olsson""#]);
}

#[tokio::test]
async fn a_cancelled_booking_is_paid_back_but_no_voucher() {
    let desk = Fixture::new();
    desk.call("book_flights", to_paris()).await.unwrap();
    let before = desk.books();
    let text = desk.call("cancel_booking", json!({"booking": "B1005", "reason": "plans"})).await.unwrap();
    assert_eq!(text, "Booking B1005 is cancelled, 75.00 euros are paid back.");
    assert_eq!(
        differences(&before, &desk.books()),
        [
            "/flights/2/fares/1/seats: 6 -> 7",
            "/customers/0/methods/1/cents: 7000 -> 12000",
            r#"/bookings/4/cancelled: null -> "plans""#,
        ]
    );
    let again = desk.call("cancel_booking", json!({"booking": "B1005", "reason": "plans"})).await;
    assert_eq!(again.unwrap_err().lines().next(), Some("booking: B1005 is cancelled"));
}

#[tokio::test]
async fn a_compensation_is_a_voucher_and_is_given_once() {
    let desk = Fixture::new();
    let before = desk.books();
    let voucher = desk.call("compensate", json!({"booking": "B1001"})).await.unwrap();
    assert_eq!(voucher, json!({"id": "voucher_B1001", "kind": "voucher", "cents": 10000}));
    assert_eq!(
        differences(&before, &desk.books()),
        [format!("/customers/0/methods/3: null -> {voucher}"), "/bookings/0/is_compensated: false -> true".to_owned(),]
    );
    let again = desk.call("compensate", json!({"booking": "B1001"})).await;
    assert_eq!(again.unwrap_err().lines().next(), Some("booking: it was compensated already"));
}

#[tokio::test]
async fn a_paid_bag_stays_paid_in_a_better_cabin() {
    let desk = Fixture::new();
    desk.call("book_flights", to_paris()).await.unwrap();
    let change =
        json!({"booking": "B1005", "flights": to_paris()["flights"], "cabin": "business", "method": "card_7447"});
    desk.call("change_flights", change).await.unwrap();
    let booked = desk.call("add_bags", json!({"booking": "B1005", "bags": 3, "method": "card_7447"})).await.unwrap();
    assert_eq!((&booked["paid_bags"], booked["charges"].as_array().unwrap().len()), (&json!(1), 4));
}

#[tokio::test]
async fn other_plans_cancel_a_booking_of_today_or_in_business() {
    let call = json!({"booking": "B1003", "reason": "plans"});
    for (hours, cabin, is_possible) in
        [(23, Cabin::Economy, true), (25, Cabin::Economy, false), (25, Cabin::Business, true)]
    {
        let desk = Fixture::new();
        let booked = desk.books().now - TimeDelta::hours(hours);
        desk.desk.books().bookings[2].booked = booked;
        desk.desk.books().bookings[2].cabin = cabin;
        assert_eq!(desk.call("cancel_booking", call.clone()).await.is_ok(), is_possible, "{hours} {cabin}");
    }
}

#[tokio::test]
async fn an_insured_or_business_booking_without_membership_is_compensated_for_a_delay() {
    for (insurance, cabin, is_possible) in
        [(false, Cabin::Economy, false), (true, Cabin::Economy, true), (false, Cabin::Business, true)]
    {
        let desk = Fixture::new();
        desk.desk.books().bookings[1].insurance = insurance;
        desk.desk.books().bookings[1].cabin = cabin;
        let voucher = desk.call("compensate", json!({"booking": "B1002"})).await;
        assert_eq!(voucher.is_ok(), is_possible, "{insurance} {cabin}");
        assert!(voucher.is_err() || voucher.unwrap()["cents"] == 5000);
    }
}

#[test]
fn a_booking_that_changed_since_its_validators_ran_is_not_changed() {
    let desk = Fixture::new();
    let code = || "B1001".to_owned();
    let card = || "card_7447".to_owned();
    let before = || Fixture::new().books().bookings[0].clone();
    let passengers = vec![serde_json::from_value(with(mia(), json!({"last_name": "Olsson"}))).unwrap()];
    change_passengers(code(), passengers.clone(), before(), &desk.desk).unwrap();
    let changed = desk.books();
    let rejections = [
        change_passengers(code(), passengers, before(), &desk.desk).err(),
        change_flights(code(), Vec::new(), Cabin::Economy, card(), before(), Vec::new(), &desk.desk).err(),
        add_bags(code(), 3, 1, card(), before(), &desk.desk).err(),
        cancel_booking(code(), Reason::Airline, before(), &desk.desk).err(),
    ];
    for rejection in rejections {
        assert_eq!(rejection.unwrap().to_text(), "booking: B1001 was changed, since another call was faster");
    }
    assert_eq!(desk.books(), changed);

    let (spent, before_now) = ("since another call was faster", || desk.books().bookings[0].clone());
    desk.desk.books().customers[0].methods[1].cents = Some(499);
    let flight = desk.books().flights[12].clone();
    let (gift_card, choices, itinerary) = (|| "gift_1189".to_owned(), vec![flight.choice()], vec![flight]);
    let rejections = [
        change_flights(code(), choices, Cabin::Economy, gift_card(), before_now(), itinerary, &desk.desk).err(),
        add_bags(code(), 3, 1, gift_card(), before_now(), &desk.desk).err(),
    ];
    let texts = rejections.map(|rejection| rejection.unwrap().to_text());
    let left = |due| format!("method: gift_1189 has 4.99 euros left, not {due}.00 euros, {spent}");
    assert_eq!(texts, [left(5), left(40)]);

    compensate(code(), 100, before(), &desk.desk).unwrap();
    let again = compensate(code(), 100, before(), &desk.desk).unwrap_err();
    assert_eq!(again.to_text(), "booking: B1001 was compensated by another call");
}

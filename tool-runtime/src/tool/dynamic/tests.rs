//! The engine under a tool that is written out by hand, as the macro would write it.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::tool::{Bind, Context, Def, Failure, Output, Part, Returned, Start, Started, Tool, Typed};
use crate::{CallError, Toolset};

struct Trip {
    from: String,
    to: String,
    seats: u8,
}

struct Flights {
    asked: AtomicUsize,
}

struct TripFrom<'a> {
    flights: &'a Flights,
}

struct TripTo<'a> {
    from: &'a String,
    seats: Option<&'a Value>,
}

struct TripSeats<'a> {
    to: Option<&'a String>,
}

fn from(value: Option<String>, known: TripFrom<'_>) -> Verdict<String> {
    known.flights.asked.fetch_add(1, SeqCst);
    let all = ["Berlin", "Paris"].map(str::to_owned);
    match value.and_then(|value| all.iter().find(|known| known.eq_ignore_ascii_case(&value)).cloned()) {
        Some(value) => Verdict::accept(value),
        None => Verdict::reject("no flights from there").allowed(&all),
    }
}

async fn to(value: Option<String>, known: TripTo<'_>) -> Result<Verdict<String>, Failure> {
    if known.seats == Some(&json!("many")) {
        return Err(Failure::hidden("the database is down"));
    }
    futures_util::future::ready(()).await;
    Ok(match value {
        Some(value) if value != *known.from => Verdict::accept(value).remark("a fine choice"),
        _ => Verdict::reject("somewhere else").suggested(["Rome".to_owned()]),
    })
}

fn seats(value: Option<u8>, known: TripSeats<'_>) -> Verdict<u8> {
    assert!(known.to.is_none_or(|to| to != "Panic"), "the secret is 42");
    Verdict::accept(value.unwrap_or(1))
}

static FIELDS: [crate::tool::Field; 3] = [
    Typed::<String>::new("from", "").dynamic(),
    Typed::<String>::new("to", "").dynamic(),
    Typed::<u8>::new("seats", "").dynamic(),
];
static DEF: Def = Def::new(
    "trip",
    "Books a trip.",
    &FIELDS,
    Returned::described(|generator| Some(generator.subschema_for::<String>())),
);

impl Tool for Trip {
    type Input = Self;
    type Output = String;
    type Values = (String, String, u8);
    const NAME: &'static str = "trip";

    fn def() -> &'static Def {
        &DEF
    }

    fn input((from, to, seats): Self::Values) -> Self {
        Self { from, to, seats }
    }
}

impl Validators for Trip {
    type States<'a> = (&'a Flights,);
    const KEEPS: &'static [Keep] =
        &[Keeping::<String>::KIND.dynamic(), Keeping::<String>::KIND.dynamic(), Keeping::<u8>::KIND.dynamic()];
    const NODES: &'static [Node] = &[
        Node { field: 0, requires: &[], after: &[] },
        Node { field: 1, requires: &[0], after: &[] },
        Node { field: 2, requires: &[], after: &[1] },
    ];

    fn ask<'a: 'b, 'b>(node: usize, given: Option<Kept>, known: Known<'b, Self::States<'a>>) -> Asking<'b> {
        match node {
            0 => Validator::<String, TripFrom<'b>>::of(from).ask(given, TripFrom { flights: known.states.0 }).settle(),
            1 => {
                let context = TripTo { from: known.value(0), seats: known.raw.get("seats") };
                Validator::<String, TripTo<'b>>::of(to).ask(given, context).settle()
            }
            _ => Validator::<u8, TripSeats<'b>>::of(seats).ask(given, TripSeats { to: known.maybe(1) }).settle(),
        }
    }

    fn begin<'a>(input: Self, _: Self::States<'a>, _: &'a Context) -> Started<'a> {
        let work = async move { Ok(Output::json(&format!("{} {} {}", input.from, input.to, input.seats))?) };
        Started::new(false, work.boxed())
    }
}

impl Bind<Flights> for Trip {
    const PART: Part<Flights> = Part {
        def: Self::def,
        start: Start::Asking(|state, text, cx| Settling::<Self, (&Flights,)>::settle(text, (state,), cx)),
    };
}

fn tools() -> Toolset {
    crate::toolset![Flights { asked: AtomicUsize::new(0) }; Trip]
}

fn call(arguments: &str) -> Result<Value, Value> {
    let (tools, cx) = (tools(), Context::new("c"));
    let output = tools.call("trip", arguments, &cx).now_or_never().expect("nothing waits");
    match output {
        Ok(output) => Ok(serde_json::from_str(output.as_json().unwrap()).unwrap()),
        Err(CallError::Rejected(rejection)) => Err(rejection.to_json()),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_is_known_so_far_is_judged() {
    let nothing = json!({ "ok": false, "validationResults": {
        "from": { "valid": false, "problems": ["no flights from there"], "allowedValues": ["Berlin", "Paris"] },
        "to": { "valid": false, "requiresValidParameters": ["from"] },
        "seats": { "valid": true, "normalizedValue": 1 },
    }});
    assert_eq!(call("{}").unwrap_err().to_string(), nothing.to_string());
    assert_eq!(call(r#"{"from":"Paris","to":"Rome","seats":2}"#), Ok(json!("Paris Rome 2")));
    assert_eq!(call(r#"{"from":"PARIS","to":"Rome"}"#), Ok(json!("Paris Rome 1")));
}

#[test]
fn a_value_that_cannot_be_read_is_that_parameters_problem() {
    let told = json!({ "ok": false, "validationResults": {
        "from": { "valid": true, "normalizedValue": "Berlin" },
        "to": { "valid": false, "problems": ["expected a text, got 5; did you mean \"5\"?"], "suggestedValues": ["Rome"] },
        "seats": { "valid": false, "problems": ["expected a whole number from 0 to 255, got 300"] },
    }});
    assert_eq!(call(r#"{"from":"berlin","to":5,"seats":300}"#).unwrap_err(), told);
}

#[test]
fn a_misspelt_name_is_that_parameters_problem() {
    let told = call(r#"{"from":"Berlin","to":"Rome","seat":3}"#).unwrap_err();
    let problems = &told["validationResults"]["seats"]["problems"];
    assert!(problems[0].as_str().unwrap().contains("did you mean `seats`"), "{told}");
    assert_eq!(told["validationResults"]["to"]["valid"], true);
}

#[test]
fn what_failed_tells_nothing() {
    let told = call(r#"{"from":"Berlin","to":"Rome","seats":"many"}"#).unwrap_err();
    assert_eq!(told["validationResults"]["to"]["problems"][0], "the value could not be checked; try again later");
    let told = call(r#"{"from":"Berlin","to":"Panic","seats":1}"#).unwrap_err();
    assert!(!told.to_string().contains("42"), "{told}");
    assert_eq!(told["validationResults"]["seats"]["valid"], false);
}

#[test]
fn what_was_normalised_is_what_is_run() {
    let (tools, cx) = (tools(), Context::new("c"));
    let started = tools.start("trip", r#"{ "to": "Rome", "from": "bERLIN" }"#, &cx).now_or_never().unwrap().unwrap();
    assert_eq!(started.normalized.as_deref(), Some(r#"{"to":"Rome","from":"Berlin","seats":1}"#));
}

#[test]
fn a_success_is_told_with_what_was_changed() {
    let (tools, cx) = (tools(), Context::new("c"));
    let output = tools.call("trip", r#"{"from":"paris","to":"Rome"}"#, &cx).now_or_never().unwrap().unwrap();
    assert_eq!(output.as_json(), Some("\"Paris Rome 1\""));
    let told = json!({ "ok": true, "value": "Paris Rome 1", "feedback": [
        "`from` is understood as \"Paris\"", "a fine choice", "`seats` is understood as 1",
    ]});
    assert_eq!(output.text(), told.to_string());
}

#[cfg(feature = "agent")]
#[tokio::test(start_paused = true)]
async fn time_is_not_used_twice() {
    let began = tokio::time::Instant::now();
    let (board, values, faults) = (Board::new(3), vec![None, None, None], vec![None, None, None]);
    let mut call = Call::new(&Apart(3), values, faults, |_, _| {
        let sleep = tokio::time::sleep(Duration::from_millis(60));
        Asking::Later(sleep.map(|()| Settled::accepted(Box::new(1_u8))).boxed())
    });
    ask_all(&mut call, &board).await;
    assert_eq!(began.elapsed(), Duration::from_millis(60));
}

/// So many dynamic parameters, of which none waits for another.
#[cfg(feature = "agent")]
struct Apart(usize);

#[cfg(feature = "agent")]
impl Shape for Apart {
    fn name(&self, _: usize) -> &str {
        "x"
    }
    fn find(&self, _: &str) -> Option<usize> {
        None
    }
    fn fields(&self) -> usize {
        self.0
    }
    fn is_dynamic(&self, _: usize) -> bool {
        true
    }
    fn nodes(&self) -> usize {
        self.0
    }
    fn field(&self, node: usize) -> usize {
        node
    }
    fn requires(&self, _: usize) -> &[usize] {
        &[]
    }
    fn after(&self, _: usize) -> &[usize] {
        &[]
    }
}

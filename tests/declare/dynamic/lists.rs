//! Tests of lists of structs with dynamic fields.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tool_runtime::{
    CallError, Context, DynamicInput, Rejection, Tool as _, Validation, tool, tool::DecodeError, toolset,
};

use super::call;

struct Network {
    cities: Vec<&'static str>,
    validations: AtomicUsize,
}

/// One way.
#[derive(DynamicInput, serde::Serialize)]
#[dynamic_input(state = Network)]
struct Leg {
    /// The start.
    #[dynamic(validate = from)]
    from: String,
    /// The end.
    #[dynamic(validate = to, requires(from, class))]
    to: String,
    /// The class.
    #[arg(range(1..=2))]
    class: u8,
    /// Bags.
    #[dynamic(nested)]
    #[arg(default)]
    bags: Vec<Bag>,
}

/// A bag.
#[derive(DynamicInput, serde::Serialize)]
struct Bag {
    /// In kilograms.
    #[dynamic(validate = weight)]
    weight: u8,
}

fn weight(value: Option<u8>, _: BagWeight<'_>) -> Validation<u8> {
    match value {
        Some(value @ 1..=23) => Validation::accept(value),
        _ => Validation::reject("too heavy"),
    }
}

fn from(value: Option<String>, known: LegFrom<'_>) -> Validation<String> {
    let Network { cities, validations } = known.state();
    validations.fetch_add(1, Ordering::SeqCst);
    match value.and_then(|value| cities.iter().find(|city| city.eq_ignore_ascii_case(&value))) {
        Some(city) => Validation::accept((*city).to_owned()),
        None => Validation::reject("not from there").allowed(cities.iter().map(|&city| city.to_owned())),
    }
}

async fn to(value: Option<String>, known: LegTo<'_>) -> Result<Validation<String>, tool_runtime::Failure> {
    assert_eq!(known.call().call_id(), "c");
    futures_util::future::ready(()).await;
    Ok(match value {
        Some(value) if value == "nowhere" => return Err(tool_runtime::Failure::new("no map of nowhere")),
        Some(value) if value == "panic" => panic!("no such place"),
        Some(value) if value != *known.from => Validation::accept(value),
        _ => Validation::reject("somewhere else"),
    })
}

/// Books a journey.
#[tool(check = connected)]
fn journey(
    /// The parts of the journey.
    #[dynamic(nested)]
    #[arg(length(1..=3))]
    legs: Vec<Leg>,
    #[dynamic(validate = nights, requires(legs))] nights: usize,
) -> Value {
    json!([legs, nights])
}

fn nights(value: Option<usize>, known: JourneyNights<'_>) -> Validation<usize> {
    let legs: &Vec<Leg> = known.legs;
    Validation::accept(value.unwrap_or(legs.len()))
}

fn connected(input: &journey, _: JourneyCheck<'_>) -> Result<(), Rejection> {
    let broken = input.legs.windows(2).position(|pair| pair[0].to != pair[1].from);
    broken.map_or(Ok(()), |at| Err(Rejection::of(format!("legs.{}.from", at + 1), "begins elsewhere")))
}

fn network() -> Network {
    Network { cities: vec!["Bonn", "Rome"], validations: AtomicUsize::new(0) }
}

fn leg(from: &str, to: &str) -> Value {
    json!({ "from": from, "to": to, "class": 1 })
}

fn feedback(arguments: Value) -> Value {
    call(&toolset!(network(); journey), "journey", arguments).unwrap_err()
}

fn results(legs: &Value) -> Value {
    feedback(json!({ "legs": legs, "nights": 1 }))["validationResults"].clone()
}

#[test]
fn the_tool_and_other_validators_receive_the_whole_list() {
    let given = json!({ "legs": [leg("Bonn", "Rome"), leg("Rome", "Oslo")] });
    let mut legs = given["legs"].clone();
    legs.as_array_mut().unwrap().iter_mut().for_each(|leg| leg["bags"] = json!([]));
    assert_eq!(call(&toolset!(network(); journey), "journey", given), Ok(json!([legs, 2])));
}

#[test]
fn each_element_has_reports_of_its_own() {
    let second = json!({ "from": "Oslo", "class": 2, "bags": [{ "weight": 7 }, { "weight": 70 }] });
    let expected = json!({ "ok": false, "validationResults": {
        "legs.0.bags.0.weight": { "valid": true },
        "legs.0.from": { "valid": true, "normalizedValue": "Bonn" },
        "legs.0.to": { "valid": true },
        "legs.1.bags.0.weight": { "valid": true },
        "legs.1.bags.1.weight": { "valid": false, "problems": ["too heavy"] },
        "legs.1.from": { "valid": false, "problems": ["not from there"], "allowedValues": ["Bonn", "Rome"] },
        "legs.1.to": { "valid": false, "requiresValidParameters": ["legs.1.from"] },
        "nights": { "valid": false, "requiresValidParameters": ["legs.1.bags.1.weight", "legs.1.from", "legs.1.to"] },
    }});
    let mut first = leg("bonn", "Rome");
    first["bags"] = json!([{ "weight": 7 }]);
    assert_eq!(feedback(json!({ "legs": [first, second] })), expected);
}

#[test]
fn a_list_without_elements_has_the_choices_of_a_first_one() {
    let choices = json!(["Bonn", "Rome"]);
    for (legs, problem) in [
        (None, "missing: expected a list"),
        (Some(json!(null)), "expected a list"),
        (Some(json!("Bonn")), "expected a list"),
        (Some(json!({ "from": "Bonn" })), "expected a list"),
        (Some(json!([])), "expected a list of 1 to 3 items, got an empty list"),
    ] {
        let given = legs.map_or_else(|| json!({}), |legs| json!({ "legs": legs }));
        let results = feedback(given)["validationResults"].clone();
        let found = results["legs"]["problems"][0].as_str().unwrap();
        assert!(found.starts_with(problem), "{found}");
        assert_eq!(results["legs.0.from"]["allowedValues"], choices);
        assert_eq!(results["legs.0.class"]["problems"], json!(["missing: expected a value"]));
        assert_eq!(results["nights"]["requiresValidParameters"][0], json!("legs.0.class"));
    }
}

/// Has the same list without validators.
#[tool]
fn plain(
    /// The parts of the journey.
    #[arg(length(1..=3))]
    legs: Vec<Plain>,
) -> usize {
    legs.iter().map(|leg| leg.class).sum()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Plain {
    class: usize,
}

#[test]
fn the_list_itself_is_reported_as_without_validators() {
    for legs in [json!("Bonn"), json!([]), json!([{}, {}, {}, {}])] {
        let plain = call(&toolset!(plain), "plain", json!({ "legs": legs })).unwrap_err();
        let problem = |feedback: &Value| feedback["legs"]["problems"][0].clone();
        assert_eq!(problem(&results(&legs)), problem(&plain["validationResults"]));
    }
}

#[test]
fn mistakes_in_an_element_are_reported_at_it() {
    let results = results(&json!([leg("Bonn", "Rome"), 5, { "class": 3, "frm": "Bonn", "other": 1 }]));
    let problem = |name: &str| results[name]["problems"][0].as_str().unwrap_or_default().to_owned();
    assert!(problem("legs.1").starts_with("expected an object with `from`"), "{results:#}");
    assert_eq!(results["legs.1.from"]["allowedValues"], json!(["Bonn", "Rome"]));
    assert!(problem("legs.2").starts_with("`legs.2.other`: unknown name"), "{results:#}");
    assert!(problem("legs.2.from").ends_with("did you mean `from`?"), "{results:#}");
    assert!(problem("legs.2.class").ends_with("from 1 to 2, got 3"), "{results:#}");
    assert_eq!(results["legs.0.from"]["valid"], json!(true));
}

#[test]
fn a_failure_and_a_panic_of_a_validator_stay_in_their_element() {
    let results = results(&json!([leg("Bonn", "nowhere"), leg("Bonn", "panic"), leg("Bonn", "Rome")]));
    assert_eq!(results["legs.0.to"]["problems"], json!(["no map of nowhere"]));
    assert_eq!(results["legs.1.to"]["problems"], json!(["the value could not be checked; try again later"]));
    assert_eq!(results["legs.2.to"], json!({ "valid": true }));
    let cx = Context::new("c");
    let arguments = json!({ "legs": [leg("Bonn", "panic")] }).to_string();
    let result = toolset!(network(); journey).call("journey", &arguments, &cx).now_or_never().unwrap();
    let Err(CallError::Rejected(rejection)) = result else { panic!("{result:?}") };
    assert_eq!(rejection.causes(), ["a validator panicked: no such place"]);
}

#[test]
fn a_check_of_the_call_can_report_at_an_element() {
    let feedback = feedback(json!({ "legs": [leg("Bonn", "Rome"), leg("Bonn", "Oslo")] }));
    let expected = json!({ "legs.1.from": { "valid": false, "problems": ["begins elsewhere"] } });
    assert_eq!(feedback, json!({ "ok": false, "validationResults": expected }));
}

#[tokio::test]
async fn normalized_elements_are_written_back() {
    let tools = toolset!(network(); journey);
    let cx = Context::new("c");
    let given = r#"{"legs": [{"class": 1, "from": "Bonn", "to":"Rome"}, {"to":"x","class":2,"from":"ROME"}]}"#;
    let started = tools.prepare("journey", given, &cx).await.unwrap();
    let expected =
        r#"{"legs":[{"class": 1, "from": "Bonn", "to":"Rome"},{"to":"x","class":2,"from":"Rome"}],"nights":2}"#;
    let normalized = started.normalized.as_deref().unwrap();
    assert_eq!(serde_json::from_str::<Value>(normalized).unwrap(), serde_json::from_str::<Value>(expected).unwrap());
    let output = format!("{:?}", started.work.await.unwrap().for_model());
    assert!(output.contains(r"`legs.1.from` is understood as \"), "{output}");
}

#[test]
fn accepted_arguments_are_read_as_one_input() {
    let read = |legs: Value| {
        let arguments = json!({ "legs": legs, "nights": 1 }).to_string();
        journey::decode(&arguments, &Context::new("c")).map(|input| input.legs)
    };
    let legs = read(json!([leg("a", "b"), leg("c", "d")])).unwrap();
    assert_eq!(legs.iter().map(|leg| leg.to.as_str()).collect::<Vec<_>>(), ["b", "d"]);
    for (legs, problem) in [
        (json!([leg("a", "b"), { "from": "a", "class": 1 }]), "item 1: `to`: missing"),
        (json!([]), "expected a list of 1 to 3 items"),
    ] {
        let Err(DecodeError::Arguments(rejection)) = read(legs) else { panic!() };
        assert!(rejection.to_string().contains(problem), "{rejection}");
    }
}

#[test]
fn elements_have_optional_dynamic_fields_in_the_schema() {
    let tools = toolset!(network(); journey);
    let schema = tools.get("journey").unwrap().spec().input.neutral().clone();
    let legs = &schema["properties"]["legs"];
    assert_eq!(schema.get("required"), None);
    assert_eq!([&legs["minItems"], &legs["maxItems"], &legs["type"]], [&json!(1), &json!(3), &json!("array")]);
    assert_eq!(legs["description"], json!("The parts of the journey."));
    assert_eq!(legs["items"]["required"], json!(["class"]));
    assert_eq!(legs["items"]["additionalProperties"], json!(false));
    let bags = &legs["items"]["properties"]["bags"];
    assert_eq!([&bags["maxItems"], &bags["default"]], [&json!(100), &json!([])]);
}

#[test]
fn the_number_of_validators_that_run_is_bounded() {
    const MANY: usize = 60_000;
    let run = |tools: &tool_runtime::Toolset, name: &str, legs: &str| {
        let result = tools.call(name, &format!(r#"{{"legs": {legs}}}"#), &Context::new("c")).now_or_never().unwrap();
        let Err(CallError::Rejected(rejection)) = result else { panic!("{result:?}") };
        let lines = rejection.lines();
        lines.into_iter().find(|line| line.starts_with("`legs`")).unwrap_or_else(|| rejection.to_text())
    };
    let many = |one: &str| format!("[{}]", vec![one; MANY].join(","));
    for (element, state) in [("{}", network()), ("7", network()), (r#"{"from":"Bonn"}"#, network())] {
        let state = std::sync::Arc::new(state);
        let tools = toolset!(std::sync::Arc::clone(&state); journey, unlimited);
        assert_eq!(
            run(&tools, "journey", &many(element)),
            format!("`legs`: expected a list of 1 to 3 items, got a list of {MANY} items")
        );
        assert_eq!(state.validations.swap(0, Ordering::SeqCst), 3);
        assert_eq!(
            run(&tools, "unlimited", &many(element)),
            format!("`legs`: expected a list of at most 100 items, got a list of {MANY} items")
        );
        assert_eq!(state.validations.load(Ordering::SeqCst), 100);
    }
}

/// Sets no limit.
#[tool]
fn unlimited(#[dynamic(nested)] legs: Vec<Leg>) -> usize {
    legs.len()
}

/// Has an optional list, which a validator sees before it is accepted.
#[tool]
fn pack(
    #[dynamic(nested)]
    #[arg(default)]
    bags: Vec<Bag>,
    #[dynamic(validate = tag, hints(bags))] tag: usize,
    #[dynamic(validate = label, after(bags))] label: usize,
) -> Value {
    json!([bags, tag, label])
}

fn tag(value: Option<usize>, known: PackTag<'_>) -> Validation<usize> {
    Validation::accept(value.or(known.bags.map(Vec::len)).unwrap_or(9))
}

fn label(value: Option<usize>, known: PackLabel<'_>) -> Validation<usize> {
    let count = |bags: Option<&Vec<Bag>>| bags.map_or(9, Vec::len);
    Validation::accept(value.unwrap_or(count(known.bags.value()) * 10 + count(known.bags.accepted())))
}

#[test]
fn a_list_with_a_default_may_be_left_out() {
    let pack = |arguments| call(&toolset!(pack), "pack", arguments);
    assert_eq!(pack(json!({})), Ok(json!([[], 9, 0])));
    assert_eq!(pack(json!({ "bags": [] })), Ok(json!([[], 0, 0])));
    assert_eq!(pack(json!({ "bags": [{ "weight": 7 }] })), Ok(json!([[{ "weight": 7 }], 1, 11])));
    let refused = pack(json!({ "bags": [{ "weight": 7 }, { "weight": 70 }] })).unwrap_err();
    assert_eq!(refused["validationResults"]["label"], json!({ "valid": true, "normalizedValue": 29 }));
    let refused = pack(json!({ "bags": null })).unwrap_err();
    assert!(refused["validationResults"]["bags"]["problems"][0].as_str().unwrap().starts_with("expected a list"));
    assert_eq!(refused["validationResults"]["tag"], json!({ "valid": true, "normalizedValue": 9 }));
}

#[test]
fn names_are_repeated_and_misspelt_in_and_around_a_list() {
    let cx = Context::new("c");
    let text = |arguments: &str| {
        let result = toolset!(network(); journey).call("journey", arguments, &cx).now_or_never().unwrap();
        let Err(CallError::Rejected(rejection)) = result else { panic!("{result:?}") };
        rejection.to_json()["validationResults"].clone()
    };
    let leg = r#"{"from": "Bonn", "to": "Rome", "class": 1}"#;
    let twice = text(&format!(r#"{{"legs": [{leg}], "legs": [{leg}]}}"#));
    assert!(twice["legs"]["problems"][0].as_str().unwrap().starts_with("given more than once"), "{twice}");
    let twice = text(&format!(r#"{{"legs": [{leg}, {{"from": "Bonn", "from": "Rome", "to": "x", "class": 1}}]}}"#));
    assert!(twice["legs.1.from"]["problems"][0].as_str().unwrap().starts_with("given more than once"), "{twice}");
    let misspelt = text(&format!(r#"{{"legz": [{leg}]}}"#));
    assert!(misspelt["legs"]["problems"][0].as_str().unwrap().ends_with("did you mean `legs`?"), "{misspelt}");
}

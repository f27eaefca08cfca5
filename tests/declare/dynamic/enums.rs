//! Tests of tools whose input is an enum. Each variant has its own fields, dynamic or not.

use std::convert::Infallible;

use serde_json::{Value, json};
use tool_runtime::{
    Context, DynamicInput, Execute, ExecuteWith, Rejection, Tool as _, Toolset, Validation, schema::Dialect, tool,
    toolset,
};

use super::call;

/// Books a journey.
#[tool(check = Travel::check_distance, challenge = "Go by {kind} to {to}?")]
enum Travel {
    /// By plane.
    Flight {
        /// The start.
        #[dynamic(validate = any)]
        from: String,
        #[dynamic(validate = to, requires(from, seats))]
        to: String,
        #[arg(range(1..=9), default = 1)]
        seats: u8,
    },
    /// By train.
    NightTrain {
        #[dynamic(nested)]
        bed: Bed,
        first_class: bool,
    },
    /// On foot.
    #[arg(rename = "foot")]
    Walk {
        steps: u32,
    },
    Stay,
}

#[derive(DynamicInput)]
struct Bed {
    #[dynamic(validate = any)]
    number: u8,
}

fn any<T, C>(value: Option<T>, _: C) -> Validation<T> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

async fn to(value: Option<String>, known: TravelFlightTo<'_>) -> Validation<String> {
    futures_util::future::ready(()).await;
    let all = ["Rome", "Oslo"].map(str::to_owned);
    match value.and_then(|value| all.iter().find(|city| city.eq_ignore_ascii_case(&value)).cloned()) {
        Some(city) if city != *known.from => Validation::accept(city),
        _ => Validation::reject(format!("no {} seats", known.seats)).allowed(&all),
    }
}

impl Travel {
    fn check_distance(&self, known: TravelCheck<'_>) -> Result<(), Rejection> {
        assert_eq!(known.call().call_id(), "c");
        if matches!(self, Self::Walk { steps: 1_000_001.. }) { Err(Rejection::from_message("too far")) } else { Ok(()) }
    }
}

impl Execute for Travel {
    type Output = String;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<String, Infallible> {
        Ok(match self {
            Self::Flight { from, to, seats } => format!("{seats} fly from {from} to {to}"),
            Self::NightTrain { bed, first_class } => format!("train {} {first_class}", bed.number),
            Self::Walk { steps } => format!("{steps} steps"),
            Self::Stay => "stay".to_owned(),
        })
    }
}

fn tools() -> Toolset {
    toolset!(Travel)
}

fn run(arguments: Value) -> Result<Value, Value> {
    call(&tools(), "Travel", arguments)
}

#[test]
fn every_variant_runs() {
    let flight = json!({ "kind": "flight", "from": "Bonn", "to": "Rome" });
    assert_eq!(run(flight), Ok(json!("1 fly from Bonn to Rome")));
    let train = json!({ "bed": { "number": 3 }, "first_class": true, "kind": "night_train" });
    assert_eq!(run(train), Ok(json!("train 3 true")));
    assert_eq!(run(json!({ "kind": "foot", "steps": 3 })), Ok(json!("3 steps")));
    assert_eq!(run(json!({ "kind": "stay" })), Ok(json!("stay")));
}

#[test]
fn the_tag_is_checked_before_the_fields() {
    let tags = json!(["flight", "night_train", "foot", "stay"]);
    for given in [json!({}), json!({ "kind": "plane", "from": 5 }), json!({ "kind": 1 })] {
        let feedback = run(given.clone()).unwrap_err();
        assert_eq!(feedback["validationResults"]["kind"]["allowedValues"], tags, "{given} {feedback:#}");
        assert_eq!(feedback["validationResults"].as_object().unwrap().len(), 1, "{feedback:#}");
    }
    let feedback = run(json!([])).unwrap_err();
    assert!(feedback["problems"][0].as_str().unwrap().contains("object"), "{feedback:#}");
}

#[test]
fn only_the_fields_of_the_variant_are_validated() {
    let expected = json!({ "ok": false, "validationResults": {
        "from": { "valid": true },
        "to": { "valid": false, "problems": ["no 1 seats"], "allowedValues": ["Rome", "Oslo"] },
    }});
    assert_eq!(run(json!({ "kind": "flight", "from": "Bonn" })), Err(expected));
    let feedback = run(json!({ "kind": "night_train", "seats": 1 })).unwrap_err();
    let results = &feedback["validationResults"];
    assert_eq!(results["first_class"]["problems"], json!(["missing: expected true or false"]), "{feedback:#}");
    assert_eq!(results["bed.number"]["problems"], json!(["missing"]), "{feedback:#}");
    let expected = "`seats`: unknown name: expected `kind`, `bed`, `first_class`";
    assert_eq!(feedback["problems"], json!([expected]), "{feedback:#}");
    let feedback = run(json!({ "kind": "flight", "from": "a", "to": "rome", "seats": 10 })).unwrap_err();
    assert!(feedback["validationResults"]["seats"]["problems"][0].as_str().unwrap().contains('9'), "{feedback:#}");
    let feedback = run(json!({ "kind": "foot", "steps": 1_000_001 })).unwrap_err();
    assert_eq!(feedback["problems"], json!(["too far"]));
}

#[tokio::test]
async fn the_tag_stays_in_normalized_arguments() {
    let (tools, cx) = (tools(), Context::new("c"));
    let started = tools.prepare("Travel", r#"{"to":"rome","kind":"flight","from":"Bonn"}"#, &cx).await.unwrap();
    assert_eq!(started.normalized.as_deref(), Some(r#"{"to":"Rome","kind":"flight","from":"Bonn"}"#));
    assert!(matches!(Travel::decode(r#"{"kind":"stay"}"#, &cx), Ok(Travel::Stay)));
    assert!(Travel::decode(r#"{"kind":"foot"}"#, &cx).is_err());
}

#[test]
fn the_schema_has_a_branch_for_each_variant() {
    let spec = tools().get("Travel").unwrap().spec().clone();
    let schema = spec.input.neutral();
    assert_eq!(schema["type"], json!("object"));
    assert_eq!(schema["required"], json!(["kind"]));
    let branches = schema["oneOf"].as_array().unwrap();
    assert_eq!(branches.len(), 4);
    assert_eq!(branches[0]["description"], json!("By plane."));
    assert_eq!(branches[0]["required"], json!(["kind"]));
    assert_eq!(branches[1]["required"], json!(["kind", "first_class"]));
}

#[test]
fn providers_without_unions_receive_one_object() {
    let spec = tools().get("Travel").unwrap().spec().clone();
    for dialect in [Dialect::OpenAiStrict, Dialect::Gemini, Dialect::Anthropic] {
        let lowered: Value = serde_json::from_str(spec.input.lowered(dialect).json().get()).unwrap();
        let properties = &lowered["properties"];
        assert_eq!(properties["kind"]["enum"], json!(["flight", "night_train", "foot", "stay"]), "{dialect:?}");
        assert!(properties["kind"]["description"].as_str().unwrap().contains("`night_train`: By train."));
        assert!(properties["to"]["description"].as_str().unwrap().contains("for kind \"flight\""), "{dialect:?}");
        assert!(lowered.get("oneOf").is_none() && lowered.get("anyOf").is_none(), "{dialect:?}");
    }
    // Arguments in a strict provider's form are understood.
    let given = r#"{"kind":"foot","from":null,"to":null,"seats":null,"bed":null,"first_class":null,"steps":7}"#;
    let raised = spec.input.lowered(Dialect::OpenAiStrict).raise(given);
    assert_eq!(run(serde_json::from_str(&raised).unwrap()), Ok(json!("7 steps")));
}

/// Pays.
#[derive(serde::Serialize)]
#[serde(tag = "by", rename_all = "SCREAMING-KEBAB-CASE")]
#[tool(state = Vec<u32>)]
enum Pay {
    BankTransfer {
        #[dynamic(validate = account)]
        account: u32,
    },
    #[serde(rename = "cash")]
    InCash,
}

fn account(value: Option<u32>, known: PayBankTransferAccount<'_>) -> Validation<u32> {
    match value.filter(|account| known.state().contains(account)) {
        Some(account) => Validation::accept(account),
        None => Validation::reject("unknown").allowed(known.state()),
    }
}

impl ExecuteWith<Vec<u32>> for Pay {
    type Output = Value;
    type Error = serde_json::Error;

    async fn execute(self, state: &Vec<u32>, _: &Context) -> Result<Value, serde_json::Error> {
        Ok(json!({ "paid": serde_json::to_value(self)?, "of": state.len() }))
    }
}

#[test]
fn serde_attributes_define_the_tag() {
    let tools = toolset!(vec![1, 2]; Pay);
    for given in [json!({ "by": "BANK-TRANSFER", "account": 2 }), json!({ "by": "cash" })] {
        let paid = call(&tools, "Pay", given.clone()).unwrap();
        assert_eq!(paid["paid"], given);
    }
    let feedback = call(&tools, "Pay", json!({ "by": "BANK-TRANSFER" })).unwrap_err();
    assert_eq!(feedback["validationResults"]["account"]["allowedValues"], json!([1, 2]));
}

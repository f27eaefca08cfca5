//! Tests of dynamic parameters with defaults, hints and secrets, in external tools, and in large numbers.

use futures_util::FutureExt;
use serde_json::{Value, json};
use tool_runtime::{CallError, Context, Judged, Validation, tool, toolset};

use super::call;

fn any<T, C>(value: Option<T>, _: C) -> Validation<T> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Adds its parameters, whose validators have an order.
#[tool]
fn order(
    #[dynamic(validate = any)] m: u8,
    #[dynamic(validate = any, requires(m))] a: u8,
    #[dynamic(validate = any)] z: u8,
    #[dynamic(validate = any, after(a))] b: u8,
    #[dynamic(validate = any)]
    #[arg(rename = "A")]
    last: u8,
) -> u8 {
    m + a + z + b + last
}

fn order_of_reports(name: &str, tools: &tool_runtime::Toolset) -> Vec<String> {
    let feedback = call(tools, name, json!({})).unwrap_err();
    feedback["validationResults"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn validators_run_in_the_documented_order() {
    assert_eq!(order_of_reports("order", &toolset!(order)), ["A", "m", "a", "b", "z"]);
}

/// Reads a key.
#[tool]
async fn unlock(
    #[dynamic(validate = code, after(class), hints(hint, tries))]
    #[arg(range(1..=9), default = 5)]
    code: u8,
    #[dynamic(validate = any)] class: String,
    #[dynamic(validate = any, after(code))] hint: Option<u8>,
    #[arg(default)] tries: u8,
    #[arg(secret)] key: String,
) -> String {
    format!("{code} {class} {hint:?} {tries} {key}")
}

async fn code(value: Option<u8>, known: UnlockCode<'_>) -> Validation<u8> {
    let (class, hint): (Judged<'_, String>, Option<&Option<u8>>) = (known.class, known.hint);
    let validation = value.map_or_else(|| Validation::reject("missing"), Validation::accept);
    validation.remark(format!("{class:?} {hint:?} {:?}", known.tries))
}

#[test]
fn defaults_limits_hints_and_secrets_are_applied() {
    let tools = toolset!(unlock);
    let cx = Context::new("c").with_secret("key", "k");
    let run = |arguments: &str| tools.call("unlock", arguments, &cx).now_or_never().unwrap();
    let output = run(r#"{ "class": "x", "hint": 3 }"#).unwrap();
    assert_eq!(output.as_json(), Some(r#""5 x Some(3) 0 k""#));
    let Err(CallError::Rejected(feedback)) = run(r#"{ "code": 10, "hint": "h", "tries": 2 }"#) else { panic!() };
    let feedback = feedback.to_json();
    let code = &feedback["validationResults"]["code"];
    assert_eq!(code["feedback"][0], "Missing None Some(2)");
    assert!(code["problems"][0].as_str().unwrap().contains('9'), "{feedback}");
}

/// Asks a person.
#[tool(external, output = bool, state = Vec<String>)]
struct Ask {
    #[dynamic(validate = whom)]
    whom: String,
}

fn whom(value: Option<String>, known: AskWhom<'_>) -> Validation<String> {
    match value.filter(|name| known.state().contains(name)) {
        Some(name) => Validation::accept(name),
        None => Validation::reject("nobody").allowed(known.state()),
    }
}

#[test]
fn the_arguments_of_an_external_tool_are_validated() {
    let tools = toolset!(vec!["Ann".to_owned()]; Ask);
    let cx = Context::new("c");
    let run = |arguments| tools.call("Ask", arguments, &cx).now_or_never().unwrap();
    assert!(matches!(run(r#"{ "whom": "Ann" }"#), Err(CallError::NotExecuted)));
    assert!(matches!(run(r#"{ "whom": "Bob" }"#), Err(CallError::Rejected(_))));
    assert_eq!(tools.read_external_output("Ask", "true").unwrap().as_json(), Some("true"));
}

/// Adds eleven parameters.
#[tool]
fn many(
    p0: u8,
    #[dynamic(validate = any)] p1: u8,
    p2: u8,
    #[dynamic(validate = any)] p3: u8,
    p4: u8,
    #[dynamic(validate = any)] p5: u8,
    p6: u8,
    #[dynamic(validate = any)] p7: u8,
    p8: u8,
    #[dynamic(validate = sum, requires(p0, p1, p2, p3, p4, p5, p6, p7, p8), after(p10))] p9: u8,
    #[dynamic(validate = any)] p10: u8,
) -> u8 {
    p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10
}

fn sum(value: Option<u8>, known: ManyP9<'_>) -> Validation<u8> {
    let ManyP9 { p0, p1, p2, p3, p4, p5, p6, p7, p8, .. } = known;
    assert_eq!((value, known.p10.accepted()), (None, Some(&10)));
    Validation::accept(p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8)
}

#[test]
fn a_tool_can_have_more_than_eight_parameters() {
    let tools = toolset!(many);
    let given: serde_json::Map<String, Value> =
        (0..11).filter(|&at| at != 9).map(|at| (format!("p{at}"), json!(at))).collect();
    assert_eq!(call(&tools, "many", Value::Object(given)), Ok(json!(36 + 36 + 10)));
}

/// Deploys a service.
#[tool]
fn deploy(
    #[dynamic(validate = environment)] environment: String,
    #[dynamic(validate = region, requires(environment))] region: String,
    #[dynamic(validate = replicas, after(region, version))] replicas: u8,
    #[dynamic(validate = any, requires(version))] note: String,
    #[arg(length(2..))] version: String,
) -> String {
    format!("{replicas} of {version} in {environment}/{region}: {note}")
}

fn environment(value: Option<String>, _: DeployEnvironment<'_>) -> Validation<String> {
    match value.filter(|name| name == "production") {
        Some(name) => Validation::accept(name),
        None => Validation::reject("no such environment").allowed(["production".to_owned()]),
    }
}

fn region(value: Option<String>, known: DeployRegion<'_>) -> Validation<String> {
    match value.filter(|name| name == "eu" && known.environment == "production") {
        Some(name) => Validation::accept(name),
        None => Validation::reject("no such region").allowed(["eu".to_owned()]),
    }
}

fn replicas(value: Option<u8>, known: DeployReplicas<'_>) -> Validation<u8> {
    let seen = format!("{:?} {:?}", known.region, known.version);
    value.filter(|count| *count < 9).map_or_else(|| Validation::reject(seen), Validation::accept)
}

#[test]
fn a_validator_waits_only_for_the_parameters_that_it_names() {
    let tools = toolset!(deploy);
    let run = |arguments: &str| {
        let result = tools.call("deploy", arguments, &Context::new("c")).now_or_never().unwrap();
        let Err(CallError::Rejected(rejection)) = result else { panic!("{result:?}") };
        rejection.lines()
    };
    assert_eq!(
        run(r#"{ "environment": "production" }"#),
        [
            "`version`: missing: expected a value",
            "`note`: cannot be judged before `version`",
            "`region`: no such region",
            "`region`: choose from \"eu\"",
            "`replicas`: Missing Missing",
        ]
    );
    // The refused region and the version, which is too short, are seen, so one answer has every mistake.
    let wrong = run(r#"{ "environment": "production", "region": "mars", "version": "1", "replicas": 9, "note": "n" }"#);
    assert_eq!(wrong.last().unwrap(), r#"`replicas`: Refused("mars") Refused("1")"#);
}

//! Tests of tools with more parameters than the eight that one tuple of `Values` holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool_runtime::{CallError, Context, Toolset, feedback::ProblemKind, tool, toolset};

/// Declares a tool that returns its arguments, and a struct with the same fields.
macro_rules! wide {
    ($tool:ident $fields:ident { $($name:ident: $type:ty),* $(,)? }) => {
        /// Gives back its arguments.
        #[tool]
        fn $tool($($name: $type),*) -> $fields {
            $fields { $($name),* }
        }

        #[derive(Serialize, Deserialize, JsonSchema)]
        struct $fields { $($name: $type),* }
    };
}

wide!(nine Nine { a: u8, b: String, c: bool, d: Option<i64>, e: f64, f: Vec<u8>, g: char, h: u16, i: String });

wide!(seventeen Seventeen {
    a: u8, b: String, c: bool, d: Option<i64>, e: f64, f: Vec<u8>, g: char, h: u16,
    i: String, j: bool, k: Option<String>, l: i8, m: bool, n: Option<u8>, o: char, p: i64,
    q: Vec<String>,
});

wide!(forty Forty {
    p00: u8, p01: Option<String>, p02: bool, p03: Option<i64>, p04: Option<f64>, p05: bool, p06: Option<char>, p07: bool,
    p08: Option<u8>, p09: bool, p10: Option<Vec<u8>>, p11: bool, p12: Option<bool>, p13: bool, p14: Option<u32>, p15: bool,
    p16: Option<u64>, p17: bool, p18: Option<i8>, p19: bool, p20: Option<f64>, p21: bool, p22: Option<String>, p23: bool,
    p24: Option<bool>, p25: bool, p26: Option<i64>, p27: Option<i64>, p28: Option<u8>, p29: bool, p30: Option<char>,
    p31: bool, p32: Option<u8>, p33: bool, p34: Option<String>, p35: bool, p36: Option<u16>, p37: Option<bool>,
    p38: Option<String>, p39: u8,
});

pub(crate) fn tools() -> Toolset {
    toolset!(nine, seventeen, forty)
}

/// Has a parameter for each of the structs. Their derives describe them.
#[tool]
fn described(nine: Nine, seventeen: Seventeen, forty: Forty) {
    let _ = (nine, seventeen, forty);
}

/// Returns the expected schema of each tool, and its number of parameters.
fn schemas() -> [(&'static str, Value, usize); 3] {
    let described = toolset!(described);
    let definitions = &described.get("described").expect("the tool").spec().input.neutral()["$defs"];
    [("nine", "Nine", 9), ("seventeen", "Seventeen", 17), ("forty", "Forty", 40)]
        .map(|(tool, fields, count)| (tool, definitions[fields].clone(), count))
}

/// Returns a value for each parameter of a schema, different at each position.
fn valid_arguments(schema: &Value) -> Map<String, Value> {
    let value = |index: usize, schema: &Value| {
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).expect("a type");
        match kind {
            "boolean" => json!(index.is_multiple_of(2)),
            "integer" => json!(index),
            "number" => json!(0.5 + f64::from(u32::try_from(index).expect("few parameters"))),
            "string" if schema["maxLength"] == 1 => {
                json!(char::from(b'A' + u8::try_from(index).expect("few parameters")))
            }
            "string" => json!(format!("text {index}")),
            "array" if schema["items"]["type"] == "integer" => json!([index, index]),
            _ => json!([format!("item {index}")]),
        }
    };
    let properties = schema["properties"].as_object().expect("properties");
    properties.iter().enumerate().map(|(index, (name, schema))| (name.clone(), value(index, schema))).collect()
}

/// Returns the refused parameters in the order of the report, with the reasons.
fn rejected_parameters(tool: &str, arguments: &Value) -> Vec<(String, ProblemKind)> {
    match tools().prepare(tool, &arguments.to_string(), &Context::new("call")).now().unwrap() {
        Err(CallError::Rejected(rejection)) => {
            let problems = rejection.problems().iter();
            problems
                .map(|problem| {
                    (problem.parameter().unwrap_or_else(|| panic!("{problem} names no parameter")), problem.kind)
                })
                .collect()
        }
        other => panic!("{tool} should reject {arguments}, but: {other:?}"),
    }
}

#[tokio::test]
async fn each_value_reaches_its_own_parameter() {
    for (tool, schema, count) in schemas() {
        let arguments = valid_arguments(&schema);
        assert_eq!(arguments.len(), count);
        let backwards: Map<String, Value> = arguments.clone().into_iter().rev().collect();
        for given in [&arguments, &backwards] {
            let text = serde_json::to_string(given).expect("a text");
            let output = tools().call(tool, &text, &Context::new("call")).await.expect("an output");
            let output: Value = serde_json::from_str(output.as_json().expect("JSON")).expect("JSON");
            assert_eq!(output, Value::Object(arguments.clone()), "{tool} {text}");
        }
    }
}

#[test]
fn all_problems_of_wide_tools_are_reported_at_once() {
    for (tool, schema, _) in schemas() {
        let names: Vec<String> = valid_arguments(&schema).into_iter().map(|(name, _)| name).collect();
        let wrong = Value::Object(names.iter().map(|name| (name.clone(), json!({"no": "such"}))).collect());
        let problems = rejected_parameters(tool, &wrong);
        assert_eq!(
            problems,
            names.into_iter().map(|name| (name, ProblemKind::WrongType)).collect::<Vec<_>>(),
            "{tool}"
        );

        let required = schema["required"].as_array().expect("required parameters").iter();
        let missing: Vec<_> =
            required.map(|name| (name.as_str().expect("a name").to_owned(), ProblemKind::Missing)).collect();
        assert_eq!(rejected_parameters(tool, &json!({})), missing, "{tool}");
    }
}

#[test]
fn one_wrong_value_at_any_position_is_found() {
    for (tool, schema, count) in schemas() {
        for index in 0..count {
            let mut arguments = valid_arguments(&schema);
            let (name, value) = arguments.iter_mut().nth(index).expect("a parameter");
            *value = json!({"no": "such"});
            let name = name.clone();
            assert_eq!(
                rejected_parameters(tool, &Value::Object(arguments)),
                [(name, ProblemKind::WrongType)],
                "{tool}"
            );
        }
    }
}

#[test]
fn the_schema_is_that_of_a_struct() {
    for (tool, schema, _) in schemas() {
        let tools = tools();
        let ours = tools.get(tool).expect("the tool").spec().input.neutral();
        assert_eq!(ours["properties"], schema["properties"], "{tool}");
        assert_eq!(ours["required"], schema["required"], "{tool}");
        let order =
            |schema: &Value| schema["properties"].as_object().expect("properties").keys().cloned().collect::<Vec<_>>();
        assert_eq!(order(ours), order(&schema), "{tool}");
    }
}

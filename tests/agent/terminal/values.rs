//! Tests that a person can type every value that a schema admits: as an answer, as an output, and as an edit.

use serde_json::{Value, json};
use tool_runtime::{
    Context, Failure, Toolset,
    model::Turn,
    tool,
    tool::{Question, QuestionAnswer},
    toolset,
    toolset::RuntimeTool,
};

use super::type_lines;

/// Asks for a value of a schema.
#[tool(effect = read_only)]
async fn ask_for(
    /// The schema.
    schema: Value,
    #[context] cx: &Context,
) -> Result<Value, Failure> {
    Ok(match cx.ask_question(Question::ask("Which?", schema)).await? {
        QuestionAnswer::Given(value) => json!({ "given": value }),
        _ => json!("declined"),
    })
}

/// Returns schemas, the texts that a person types, and the values that they mean.
fn table() -> Vec<(Value, Vec<(&'static str, Value)>)> {
    let maybe_text = vec![
        ("null", json!(null)),
        (r#""null""#, json!("null")),
        ("42", json!("42")),
        ("true", json!("true")),
        (r#""""#, json!("")),
        ("plain", json!("plain")),
    ];
    vec![
        (
            json!({}),
            vec![
                ("null", json!(null)),
                ("true", json!(true)),
                ("false", json!(false)),
                ("0", json!(0)),
                ("-0.0", json!(-0.0)),
                ("1.5", json!(1.5)),
                ("1e300", json!(1e300)),
                ("9007199254740993", json!(9_007_199_254_740_993_u64)),
                ("18446744073709551615", json!(u64::MAX)),
                (r#""""#, json!("")),
                (r#"" ""#, json!(" ")),
                (r#""null""#, json!("null")),
                (r#""é\n\u0000\ud83d\ude00""#, json!("é\n\u{0}😀")),
                ("plain text", json!("plain text")),
                ("[]", json!([])),
                ("{}", json!({})),
                ("[null]", json!([null])),
                (
                    r#"{"answer":null,"approved":false,"__proto__":{}}"#,
                    json!({"answer":null,"approved":false,"__proto__":{}}),
                ),
            ],
        ),
        (
            json!({ "type": "string" }),
            vec![
                ("null", json!("null")),
                ("0", json!("0")),
                ("n", json!("n")),
                (r#""""#, json!("")),
                (r#""  ""#, json!("  ")),
                (r#""\"x\"""#, json!("\"x\"")),
                (r#"a "b""#, json!("a \"b\"")),
            ],
        ),
        (json!({ "type": ["string", "null"] }), maybe_text.clone()),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/text" }, { "type": "null" }], "$defs": { "text": { "type": "string" } } }),
            maybe_text,
        ),
        (
            json!({ "type": ["number", "string"] }),
            vec![("42", json!(42)), (r#""42""#, json!("42")), ("1.5", json!(1.5))],
        ),
        (json!({ "type": "boolean" }), vec![("n", json!(false)), ("yes", json!(true)), ("false", json!(false))]),
        (json!({ "type": ["boolean", "null"] }), vec![("null", json!(null)), ("no", json!(false))]),
        (json!({ "type": ["boolean", "string"] }), vec![("n", json!("n")), ("false", json!(false))]),
        (json!({ "type": "null" }), vec![("null", json!(null))]),
        (json!({ "enum": [null, "a", 3] }), vec![("null", json!(null)), ("a", json!("a")), ("3", json!(3))]),
        (json!({ "type": "array" }), vec![("[]", json!([])), ("[null, \"\"]", json!([null, ""]))]),
        (json!({ "type": "integer" }), vec![("0", json!(0)), ("-1", json!(-1))]),
    ]
}

/// Returns the text that a model receives of a value.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[tokio::test]
async fn every_value_can_be_an_answer() {
    for (schema, cases) in table() {
        let turns = || vec![Turn::call("ask_for", json!({ "schema": schema })), Turn::say("ok")];
        for (typed, value) in cases {
            let seen = type_lines(&format!("go\n{typed}\n"), toolset!(ask_for), turns()).await;
            assert_eq!(
                seen.outputs,
                [json!({ "given": value }).to_string()],
                "`{typed}` for {schema}: {}",
                seen.screen
            );
        }
        let seen = type_lines("go\n\n", toolset!(ask_for), turns()).await;
        assert_eq!(seen.outputs, ["declined"], "nothing for {schema}");
    }
}

#[tokio::test]
async fn every_value_can_be_an_output() {
    for (schema, cases) in table() {
        for (typed, value) in cases {
            let page = RuntimeTool::new("page", "").output(schema.clone()).external().unwrap();
            let turns = vec![Turn::call("page", json!({})), Turn::say("ok")];
            let seen = type_lines(&format!("go\n{typed}\n"), Toolset::new().with(page).unwrap(), turns).await;
            assert_eq!(seen.outputs, [shown(&value)], "`{typed}` for {schema}: {}", seen.screen);
        }
    }
}

#[tokio::test]
async fn every_value_can_be_an_edit() {
    for (schema, cases) in table() {
        for (typed, value) in cases {
            // The parameter is in the call or not, and is required or not.
            for (before, required) in
                [(json!({}), false), (json!({ "it": value }), true), (json!({ "it": value }), false)]
            {
                let definitions = schema.get("$defs").cloned().unwrap_or(json!({}));
                let mut input = json!({ "type": "object", "properties": { "it": schema }, "$defs": definitions });
                if required {
                    input["required"] = json!(["it"]);
                }
                let keep = RuntimeTool::new("keep", "").input(input).require_approval();
                let keep = keep.handler(|arguments, _| async move { Ok(arguments) }).unwrap();
                let turns = vec![Turn::call("keep", before), Turn::say("ok")];
                let lines = format!("go\ne\n{typed}\ny\n");
                let seen = type_lines(&lines, Toolset::new().with(keep).unwrap(), turns).await;
                let kept = json!({ "it": value }).to_string();
                assert!(seen.outputs[0].ends_with(&kept), "`{typed}` for {schema}: {}", seen.screen);
            }
        }
    }
}

//! Tests of decoding with random texts: it never panics, and it agrees with `serde_json` and the schema, with the exceptions below.

use std::{collections::BTreeMap, sync::LazyLock};

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::{CallError, Context, Toolset, tool, toolset, toolset::RuntimeTool};

// It ignores other names.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Point {
    x: i32,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Dot,
    Circle { radius: f64, at: Point },
    Path(Vec<Point>),
}

/// Draws.
#[tool]
fn draw(
    #[arg(length(..=5))] a: Option<String>,
    #[arg(range(0..=9))] b: Option<i64>,
    c: Option<f64>,
    d: Option<Shape>,
    #[arg(default)] e: BTreeMap<String, bool>,
    f: Option<Value>,
) {
    let _ = (a, b, c, d, e, f);
}

fn tools() -> Toolset {
    let tools = toolset!(draw);
    let schema = tools.get("draw").unwrap().spec().input.neutral().clone();
    let late = RuntimeTool::new("late", "").input(schema).handler(|_, _| async { Ok(Value::Null) });
    tools.with(late.unwrap()).unwrap()
}

struct Judges {
    tools: Toolset,
    validator: jsonschema::Validator,
}

static JUDGES: LazyLock<Judges> = LazyLock::new(Judges::new);

impl Judges {
    fn new() -> Self {
        let tools = tools();
        let validator = jsonschema::validator_for(tools.get("draw").unwrap().spec().input.neutral()).unwrap();
        Self { tools, validator }
    }

    fn accepts(&self, name: &str, text: &str) -> Result<bool, TestCaseError> {
        match self.tools.prepare(name, text, &Context::new("c")).now().unwrap() {
            Ok(_) => Ok(true),
            Err(CallError::Rejected(rejection)) => {
                let message = rejection.to_string();
                prop_assert!(!message.is_empty() && message.len() < 8000, "{message}");
                Ok(false)
            }
            Err(other) => Err(TestCaseError::fail(format!("{name} {text:?}: {other}"))),
        }
    }

    fn compare(&self, text: &str) -> Result<(), TestCaseError> {
        let value = if text.trim_matches([' ', '\n', '\r', '\t']).is_empty() {
            Some(Value::Object(serde_json::Map::default()))
        } else {
            serde_json::from_str::<Value>(text).ok()
        };
        let theirs = value.as_ref().is_some_and(|value| self.validator.is_valid(value));
        let (declared, late) = (self.accepts("draw", text)?, self.accepts("late", text)?);
        let twice = value.as_ref().is_some_and(|value| names(text) > count(value));
        prop_assert!(late == theirs || (theirs && twice), "late {late}, theirs {theirs}: {text}");
        // To an `f64`, this is zero, and so an integer.
        let is_rounded = text.contains("1e-400");
        prop_assert!(
            declared == theirs || (theirs && (twice || is_rounded)),
            "ours {declared}, theirs {theirs}: {text}"
        );
        Ok(())
    }
}

/// Returns the number of names in the objects of a text: each has a colon outside of strings.
fn names(text: &str) -> usize {
    let (mut names, mut quoted, mut escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ':' if !quoted => names += 1,
            _ => {}
        }
    }
    names
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.len() + entries.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

const VALID: [&str; 5] = [
    r#"{"a":"abc","b":7,"c":-1.5e3,"e":{"x":true,"y":false},"f":[1,{"g":null}]}"#,
    r#"{"d":"dot","a":null}"#,
    r#"{ "d" : {"circle":{"radius":2.5,"at":{"x":-3,"tags":["a","\u00e9"]}}} }"#,
    r#"{"d":{"path":[{"x":1},{"x":2,"more":[[]]}]},"f":"\ud83d\ude00"}"#,
    r#"{"f":{"f":{"f":0}},"b":0,"c":12345678901234567890}"#,
];

/// A pattern for tokens of JSON, and for near misses.
const PIECES: &str = r#"[\[\]{},:"\\]|"[a-f]"|-?[0-9]{1,3}|1\.0|1e3|1e999|true|null|NaN|\\ud83d|\x00|\u{feff}|é|'|"d":"dot"|"x":1|[a-f]"#;

#[test]
fn valid_arguments_are_accepted() {
    for text in VALID {
        assert!(JUDGES.accepts("draw", text).unwrap() && JUDGES.accepts("late", text).unwrap(), "{text}");
        JUDGES.compare(text).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_judged_like_serde_json_and_the_schema(text in any::<String>()) {
        JUDGES.compare(&text)?;
    }

    #[test]
    fn near_misses_of_json_are_judged_the_same(pieces in prop::collection::vec(PIECES, 0..12)) {
        JUDGES.compare(&pieces.concat())?;
        JUDGES.compare(&format!("{{{}}}", pieces.concat()))?;
    }

    #[test]
    fn valid_json_with_a_mistake_is_judged_the_same(
        which in 0..VALID.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, PIECES), 1..4),
    ) {
        let mut text: Vec<char> = VALID[which].chars().collect();
        for (index, cut, piece) in changes {
            let at = index.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        JUDGES.compare(&text.into_iter().collect::<String>())?;
    }

    #[test]
    fn any_value_for_any_parameter_is_judged_the_same(name in "[a-g]", value in prop::sample::select(vec![
        "0", "9", "10", "-1", "-0", "0.5", "2.0", "1e2", "9223372036854775807", "9223372036854775808", "-1e-400",
        r#""""#, r#""abcde""#, r#""abcdef""#, r#""ééééé""#, "[]", "{}", "null", "true", r#""dot""#, r#"{"dot":null}"#,
        r#"{"path":[]}"#, r#"{"path":[[1]]}"#, r#"{"circle":{"radius":1}}"#, r#"{"path":[],"circle":1}"#,
        r#"{"x":true}"#, r#"{"x":1}"#,
    ])) {
        JUDGES.compare(&format!(r#"{{"{name}":{value}}}"#))?;
    }
}

//! Tests of invalid arguments from models, networks and attackers. They are explained precisely and briefly, and never run.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    CallError, Context, Rejection, Toolset, feedback::ProblemKind, tool, toolset, toolset::RuntimeTool,
};
use tool_test_kit::within_blocking;

// It ignores other names.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Point {
    x: i32,
    y: Option<f64>,
}

/// Accepts parameters of every kind.
#[tool]
fn take(
    #[arg(length(..=1000))] text: Option<String>,
    small: Option<u8>,
    big: Option<i64>,
    number: Option<f64>,
    #[arg(default)] points: Vec<Point>,
    any: Option<Value>,
    #[arg(default)] map: BTreeMap<String, i64>,
    #[state] runs: &AtomicUsize,
) -> usize {
    let _ = (text, small, big, number, points, any, map);
    runs.fetch_add(1, Ordering::SeqCst)
}

/// One tool in two forms: declared, and made at run time.
struct TwoForms {
    tools: Toolset,
    runs: Arc<AtomicUsize>,
}

impl TwoForms {
    fn new() -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let tools = toolset!(Arc::clone(&runs); take);
        let schema = tools.get("take").unwrap().spec().input.neutral().clone();
        let counted = Arc::clone(&runs);
        let at_run_time = RuntimeTool::new("at_run_time", "").input(schema).handler(move |_, _| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            async move { Ok(json!(run)) }
        });
        Self { tools: tools.with(at_run_time.unwrap()).unwrap().max_argument_bytes(64 << 20), runs }
    }

    /// Asserts that both tools reject `arguments` with a short text, in a short time, without running.
    #[track_caller]
    fn assert_rejected(&self, arguments: &str) -> [Rejection; 2] {
        let before = self.runs.load(Ordering::SeqCst);
        let shown: String = arguments.chars().take(200).collect();
        let answers = ["take", "at_run_time"].map(|name| {
            let cx = Context::new("c");
            let call = self.tools.call(name, arguments, &cx);
            let called = within_blocking(&shown, || futures_util::FutureExt::now_or_never(call));
            let Err(error) = called.unwrap() else { panic!("{name} ran with {shown}") };
            let message = error.for_model();
            assert!(
                message.as_text().unwrap().len() < 8000,
                "{name} {shown}: {} bytes",
                message.as_text().unwrap().len()
            );
            assert!(error.for_log().len() < 8000, "{name} {shown}");
            let CallError::Rejected(rejection) = error else { panic!("{name} {shown}: {error}") };
            rejection
        });
        assert_eq!(self.runs.load(Ordering::SeqCst), before, "a rejected call does not run: {shown}");
        answers
    }

    #[track_caller]
    fn assert_rejected_with(&self, arguments: &str, words: &[&str]) {
        for rejection in self.assert_rejected(arguments) {
            let message = rejection.to_string();
            for word in words {
                assert!(message.contains(word), "{arguments:.200}\n  {message}\n  does not contain `{word}`");
            }
        }
    }

    #[track_caller]
    fn assert_accepted(&self, arguments: &str) {
        for name in ["take", "at_run_time"] {
            let cx = Context::new("c");
            if let Err(error) = self.tools.prepare(name, arguments, &cx).now().unwrap() {
                panic!("{name} {arguments:.200}: {error}");
            }
        }
    }
}

#[test]
fn arguments_that_are_not_json_are_rejected() {
    let both = TwoForms::new();
    for (text, words) in [
        ("hello", "JSON"),
        ("{", "JSON"),
        (r#"{"text":"a""#, "JSON"),
        (r#"{"text":"a",}"#, "comma"),
        (r"{'text':'a'}", "quote"),
        (r#"{text:"a"}"#, "quote"),
        ("```json\n{\"text\":\"a\"}\n```", "JSON"),
        ("\u{feff}{\"text\":\"a\"}", "JSON"),
        (r#"{"text":"a"} and so on"#, "after"),
        (r#"{"text":"a"}{"text":"b"}"#, "JSON"),
        (r#"{"text":"a"}}"#, "after"),
        ("{}\n{}", "JSON"),
        (r#"{"number":NaN}"#, "NaN"),
        (r#"{"number":Infinity}"#, "Infinity"),
        (r#"{"number":-Infinity}"#, "Infinity"),
        (r#"{"number":1e999}"#, "number"),
        (r#"{"any":[1e999]}"#, "number"),
        (r#"{"big":0x1F}"#, "number"),
        (r#"{"big":01}"#, "number"),
        (r#"{"big":+1}"#, "number"),
        (r#"{"text":"\ud83d"}"#, "surrogate"),
        (r#"{"text":"\udc00\ud83d"}"#, "surrogate"),
        (r#"{"\ud83d":1}"#, "surrogate"),
        (r#"{"text":"\u12"}"#, ""),
        (r#"{"text":"C:\dir"}"#, "backslash"),
        ("{\"text\":\"a\nb\"}", "control"),
        ("{\"text\":\"a\0b\"}", "control"),
        ("{\"te\u{1}xt\":\"a\"}", "control"),
        ("{\"text\":\"a\"}\0", ""),
        ("\u{a0}", ""),
    ] {
        both.assert_rejected_with(text, &[words]);
        for rejection in both.assert_rejected(text) {
            assert_eq!(rejection.problems().len(), 1, "a mistake in the JSON is the only problem: {text}");
            assert_eq!(rejection.problems()[0].kind, ProblemKind::Malformed, "{text}");
            assert!(!rejection.to_string().contains(char::is_control), "{rejection:?}");
        }
    }
}

#[test]
fn arguments_that_are_not_an_object_are_rejected() {
    let both = TwoForms::new();
    for text in ["[]", r#"[{"text":"a"}]"#, "\"{}\"", r#""{\"text\":\"a\"}""#, "1", "-0", "null", "true", " [1] "] {
        both.assert_rejected_with(text, &["object"]);
        let kinds = both.assert_rejected(text).map(|rejection| rejection.problems()[0].kind);
        assert_eq!(kinds, [ProblemKind::WrongType; 2], "{text}");
    }
    both.assert_accepted("");
    both.assert_accepted(" \n\t");
    both.assert_accepted("{}");
    both.assert_accepted("\r\n{ }\t");
}

#[test]
fn repeated_parameters_are_rejected() {
    let both = TwoForms::new();
    for text in [r#"{"small":1,"small":1}"#, r#"{"small":1,"big":2,"sm\u0061ll":300}"#, r#"{"text":null,"text":"a"}"#] {
        let kinds = both.assert_rejected(text).map(|rejection| rejection.problems()[0].kind);
        assert_eq!(kinds, [ProblemKind::Duplicate; 2], "{text}");
        both.assert_rejected_with(text, &["more than once"]);
    }
    let many = format!("{{{}}}", vec![r#""small":1"#; 200_000].join(","));
    for rejection in both.assert_rejected(&many) {
        assert_eq!(rejection.problems().len(), 1, "a repeated name is reported once");
    }
    both.assert_rejected_with(r#"{"points":[{"x":1,"x":2}]}"#, &["points.0.x", "more than once"]);
}

#[test]
fn unknown_parameters_are_rejected() {
    let both = TwoForms::new();
    both.assert_rejected_with(r#"{"txet":"a"}"#, &["unknown", "did you mean `text`?"]);
    both.assert_rejected_with(r#"{"zzzzzzzz":"a"}"#, &["unknown", "`text`"]);
    both.assert_rejected_with(r#"{"":1}"#, &["unknown"]);
    both.assert_rejected_with("{\"a\u{202e}\\u0000\\nb\":1}", &["unknown"]);
    for rejection in both.assert_rejected("{\"a\u{202e}\\u0000\\nb\":1}") {
        let message = rejection.to_string();
        assert!(!message.contains(['\u{202e}', '\0', '\n']), "{message:?}");
    }
}

#[test]
fn values_of_the_wrong_type_are_rejected() {
    let both = TwoForms::new();
    for (text, path) in [
        (r#"{"small":256}"#, "/small"),
        (r#"{"small":-1}"#, "/small"),
        (r#"{"small":"7"}"#, "/small"),
        (r#"{"big":9223372036854775808}"#, "/big"),
        (r#"{"big":-9223372036854777856}"#, "/big"),
        (r#"{"big":99999999999999999999999999999999999999}"#, "/big"),
        (r#"{"big":1.5}"#, "/big"),
        (r#"{"number":"1"}"#, "/number"),
        (r#"{"points":{}}"#, "/points"),
        (r#"{"points":[{"x":1},{"x":2147483648}]}"#, "/points/1/x"),
        (r#"{"points":[{"y":1}]}"#, "/points/0/x"),
        (r#"{"points":[[1,2]]}"#, "/points/0"),
        (r#"{"text":["a"]}"#, "/text"),
        (r#"{"map":{"a":"b"}}"#, "/map/a"),
    ] {
        for rejection in both.assert_rejected(text) {
            assert_eq!(rejection.problems()[0].path, path, "{text}: {rejection}");
        }
    }
    both.assert_accepted(r#"{"number":-0,"big":0,"small":255}"#);
    both.assert_accepted(r#"{"number":123456789012345678901234567890,"text":"\ud83d\ude00\u0000"}"#);
}

/// Returns `before`, `levels` nested arrays, and `after`.
fn nested(before: &str, levels: usize, after: &str) -> String {
    format!("{before}{}{}{after}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn values_that_are_nested_too_deep_are_rejected() {
    let both = TwoForms::new();
    both.assert_accepted(&nested(r#"{"any":"#, 126, "}"));
    for levels in [128, 129, 100_000] {
        both.assert_rejected(&nested(r#"{"any":"#, levels, "}"));
        both.assert_rejected(&nested("", levels, ""));
        both.assert_rejected(&nested(r#"{"unknown":"#, levels, "}"));
        both.assert_rejected(&nested(r#"{"points":[{"x":1,"ignored":"#, levels, "}]}"));
        both.assert_rejected(&"{\"any\":".repeat(levels));
        both.assert_rejected(&"[".repeat(levels));
    }
    for rejection in both.assert_rejected(&nested(r#"{"any":"#, 129, "}")) {
        assert_eq!(rejection.problems()[0].kind, ProblemKind::TooLarge, "{rejection}");
        assert!(rejection.to_string().contains("nested"), "{rejection}");
    }
}

#[test]
fn mistakes_in_ignored_values_are_rejected() {
    let both = TwoForms::new();
    both.assert_accepted(r#"{"points":[{"x":1,"more":{"a":["b",null,-1.5e3]}}]}"#);
    for ignored in [r#""\ud800""#, r#"{"\ud800":1}"#, "1e999", "[1,]", "\"\u{1}\"", "nul"] {
        both.assert_rejected(&format!(r#"{{"points":[{{"x":1,"more":{ignored}}}]}}"#));
    }
}

#[test]
fn very_large_values_are_rejected_briefly() {
    let both = TwoForms::new();
    let large = "x".repeat(10_000_000);
    both.assert_rejected_with(&format!(r#"{{"text":"{large}"}}"#), &["1000"]);
    both.assert_rejected_with(&format!(r#"{{"small":"{large}"}}"#), &["0", "255"]);
    both.assert_rejected_with(&format!(r#"{{"unknown":"{large}"}}"#), &["unknown"]);
    both.assert_rejected_with(&format!(r#"{{"{large}":1}}"#), &["unknown"]);
    both.assert_rejected(&large);
    both.assert_rejected(&format!(r#"{{"text":"{large}"#));
    both.assert_rejected(&" ".repeat(10_000_000).replace("  ", "\n{"));

    let default = TwoForms::new().tools.max_argument_bytes(tool_runtime::toolset::DEFAULT_MAX_ARGUMENT_BYTES);
    for name in ["take", "at_run_time"] {
        let error = default
            .prepare(name, &format!(r#"{{"text":"{large}"}}"#), &Context::new("c"))
            .now()
            .unwrap()
            .map(drop)
            .unwrap_err();
        let CallError::Rejected(rejection) = error else { panic!("{error}") };
        assert_eq!(rejection.problems()[0].kind, ProblemKind::TooLarge);
    }
}

#[test]
fn very_many_wrong_values_are_rejected_briefly() {
    let both = TwoForms::new();
    let keys: Vec<String> = (0..1_000_000).map(|n| format!("\"k{n}\":0")).collect();
    both.assert_rejected_with(&format!("{{{}}}", keys.join(",")), &["unknown", "more"]);
    both.assert_rejected(&format!(r#"{{"points":[{}]}}"#, vec!["7"; 300_000].join(",")));
    both.assert_rejected(&format!(r#"{{"map":{{{}}}}}"#, keys[..300_000].join(",").replace(":0", ":\"0\"")));
    both.assert_rejected(&format!(r#"{{"small":[{}]}}"#, vec!["7"; 300_000].join(",")));
}

//! Tests that decoder and schema accept the same arguments, for parameters of every kind, apart from the named exceptions.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{CallError, Context, Toolset, tool, toolset};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Point {
    x: i32,
    y: Option<u16>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Limited {
    /// Checked although only schemars knows of it.
    #[schemars(range(min = 1, max = 5))]
    at_most_five: u32,
    #[schemars(length(min = 2), regex(pattern = "^[a-z]+$"))]
    #[serde(default)]
    name: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Dot,
    Circle(f64),
    Line(Point, Point),
    Rect { at: Point, size: u8 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Named { name: String },
    Numbered { number: i64 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    value: i8,
    children: Vec<Tree>,
}

/// Numbers.
#[tool]
fn numbers(
    a: u8,
    b: i64,
    c: u64,
    d: f32,
    #[arg(range(0.5..))] e: Option<f64>,
    #[arg(range(1..10))] f: i32,
    #[arg(default = 3)] g: usize,
) {
    let _ = (a, b, c, d, e, f, g);
}

/// Texts.
#[tool]
fn texts(
    #[arg(length(1..=40))] a: String,
    #[arg(pattern = "^[A-Z][a-z]*$")] b: Option<String>,
    #[arg(format = "date")] c: String,
    #[arg(default)] d: bool,
    e: char,
) {
    let _ = (a, b, c, d, e);
}

/// Collections.
#[tool]
fn collections(
    #[arg(length(1..=2))] a: Vec<Point>,
    b: BTreeMap<String, u8>,
    c: (u8, bool),
    #[arg(default)] d: HashSet<String>,
    e: Option<Vec<i32>>,
) {
    let _ = (a, b, c, d, e);
}

/// Types of the user.
#[tool]
fn nested(a: Shape, b: Limited, c: Option<Tagged>, d: Option<Either>, e: Option<Tree>) {
    let _ = (a, b, c, d, e);
}

pub(crate) fn tools() -> Toolset {
    toolset!(numbers, texts, collections, nested)
}

fn accepts(name: &str, arguments: &str) -> bool {
    let cx = Context::new("1");
    match tools().prepare(name, arguments, &cx).now().unwrap() {
        Ok(_) => true,
        Err(CallError::Rejected(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    for (b, c, f) in
        [("1", "1", "5"), ("1.0", "1e2", "5.0"), ("-0.0", "-0.0", "0.5e1"), ("9007199254740993.0", "0", "1")]
    {
        assert!(accepts("numbers", &format!(r#"{{"a":-0.0,"b":{b},"c":{c},"d":1,"f":{f}}}"#)), "{b} {c} {f}");
    }
    for (b, c, f) in [("1.5", "1", "5"), ("1", "-1.0", "5"), ("1", "1", "10.0"), ("1e19", "1", "5"), ("1", "1e20", "5")]
    {
        assert!(!accepts("numbers", &format!(r#"{{"a":1,"b":{b},"c":{c},"d":1,"f":{f}}}"#)), "{b} {c} {f}");
    }
}

/// Whole numbers.
#[tool]
fn whole(a: u64, b: Vec<Option<i64>>, #[arg(default)] c: u128) -> String {
    format!("{a} {b:?} {c}")
}

#[tokio::test]
async fn no_digit_of_a_whole_number_is_lost() {
    let text = r#"{"a":9007199254740993.0,"b":[-9007199254740993.0,null,1e3],"c":3.40282366920938463463374607431768211455e38}"#;
    let output = toolset!(whole).call("whole", text, &Context::new("1")).await.unwrap();
    let digits = "9007199254740993 [Some(-9007199254740993), None, Some(1000)] 340282366920938463463374607431768211455";
    assert_eq!(output.as_json(), Some(&*format!("{digits:?}")));
}

/// Limits of `f32`.
#[tool]
fn single(#[arg(range(0.7..))] least: f32, #[arg(range(0.0..=0.1))] most: Option<f32>) {
    let _ = (least, most);
}

#[test]
fn limits_of_f32_are_those_that_were_written() {
    let cx = Context::new("1");
    let tools = toolset!(single);
    let accepts = |text: &str| tools.prepare("single", text, &cx).now().unwrap().is_ok();
    for text in [r#"{"least":0.7}"#, r#"{"least":0.70000001,"most":0.1}"#, r#"{"least":1,"most":0}"#] {
        assert!(accepts(text), "{text}");
    }
    for text in [r#"{"least":0.69999999}"#, r#"{"least":0.7,"most":0.100000001}"#, r#"{"least":0.6}"#] {
        assert!(!accepts(text), "{text}");
    }
}

#[test]
fn exception_a_parameter_must_not_be_repeated() {
    assert!(!accepts("numbers", r#"{"a":1,"a":1,"b":1,"c":1,"d":1,"f":5}"#));
}

/// Digits.
#[tool]
fn digits(#[arg(pattern = r"^\d$")] digit: String) {
    let _ = digit;
}

#[test]
fn character_classes_are_ascii() {
    let cx = Context::new("1");
    let is_read = |digit: char| {
        toolset!(digits).prepare("digits", &format!("{{\"digit\":\"{digit}\"}}"), &cx).now().unwrap().is_ok()
    };
    assert!(is_read('3') && !is_read('\u{0663}'), "an Arabic-Indic three is no digit in JSON Schema");
}

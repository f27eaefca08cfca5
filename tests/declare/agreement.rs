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
fn exception_a_whole_float_is_not_an_integer() {
    assert!(accepts("numbers", r#"{"a":1,"b":1,"c":1,"d":1,"f":5}"#));
    assert!(!accepts("numbers", r#"{"a":1,"b":1.0,"c":1,"d":1,"f":5}"#));
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

//! Small, large and unusual tools.
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::{collections::HashMap, fmt, sync::Arc};

use tool_runtime::{Context, Execute, Failure, OutputWithContent, Text, tool, toolset};

/// One letter, nothing in or out.
#[tool]
fn f() {}

/// One letter, async.
#[tool]
async fn g() {}

/// A unit struct.
#[tool]
struct Ping;

impl Execute for Ping {
    type Output = Text;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<Text, Failure> {
        Ok(Text("pong".to_owned()))
    }
}

/// Twenty parameters.
#[tool(allow(undescribed))]
#[rustfmt::skip]
async fn twenty(
    a: u8, b: u16, c: u32, d: u64, e: i8, f: i16, g: i32, h: i64, i: f32, j: f64, k: bool, l: char, m: String,
    n: Option<u8>, o: Vec<u8>, p: HashMap<String, u8>, q: (u8, String), r: [u8; 2], s: Box<u8>, t: (),
) -> String {
    format!("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n:?}{o:?}{p:?}{q:?}{r:?}{s:?}{t:?}")
}

#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("broken")
    }
}

impl std::error::Error for Broken {}

fn broken() -> Result<u8, Broken> {
    Err(Broken)
}

/// Many kinds of errors.
#[tool(allow(undescribed))]
async fn fallible(text: String) -> Result<OutputWithContent<u8>, Failure> {
    let number: u8 = text.parse()?;
    let other = broken()?;
    let third: f64 = serde_json::from_str(&text)?;
    if third > 3.0 {
        return Err(Failure::new("too large"));
    }
    Ok(OutputWithContent { value: number + other, model: Vec::new() })
}

type Outcome<T> = Result<T, Broken>;

/// A result behind another name.
#[tool]
fn renamed() -> Outcome<u8> {
    broken()
}

/// An error that is boxed.
#[tool]
async fn boxed() -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    Ok(broken()?)
}

/// State by reference, by value, twice, and with a lifetime.
#[tool]
async fn state<'a>(
    #[state] one: &'a Arc<str>,
    #[state] two: Arc<str>,
    #[context] cx: Context,
    #[context] again: &'a Context,
) -> String {
    format!("{one}{two}{}{}", cx.call_id(), again.call_id())
}

/// A constant function.
#[tool(allow(undescribed))]
const fn constant(value: u8) -> u8 {
    value
}

/// Text that lives for ever.
#[tool]
fn forever() -> &'static str {
    "for ever"
}

#[test]
fn works() {
    let state_of_all: Arc<str> = "a".into();
    let tools =
        toolset!(state_of_all.clone() as Arc<str>; f, g, Ping, twenty, fallible, renamed, boxed, constant, forever,);
    let _ = tools;
    let _ = toolset!(State { text: state_of_all }; state);
    let _ = toolset!();
    let _ = toolset!(f);
}

#[derive(tool_runtime::Provide)]
struct State {
    text: Arc<str>,
}

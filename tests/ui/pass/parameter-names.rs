//! Parameters and state may have any name, also those that an expansion uses itself.
#![deny(warnings)]
#![allow(deprecated)]
#![forbid(unsafe_code)]

use tool_runtime::{Context, tool, toolset};

struct State;

/// Takes everything.
#[tool(approval = when(|input| input.input.is_empty()), effect = read_only)]
async fn everything(
    text: String,
    input: String,
    state: String,
    slot0: String,
    args: String,
    self_: String,
    r#type: String,
    result: String,
    fields: String,
    call: String,
    value: String,
    __rt: String,
    __work: String,
    #[context] cx: &Context,
    #[state] state0: &State,
    #[state] work: &State,
) -> String {
    let _ = (state0, work, cx.call_id());
    [text, input, state, slot0, args, self_, r#type, result, fields, call, value, __rt, __work].concat()
}

/// Takes some of them, and does not wait.
#[tool]
fn something(cx: String, state: u8, input: u8, text: u8) -> String {
    format!("{cx}{state}{input}{text}")
}

/// A keyword as a name.
#[tool]
fn r#match(r#in: String, mut r#mut: u8) -> String {
    r#mut += 1;
    format!("{in}{mut}", r#in = r#in, r#mut = r#mut)
}

fn main() {
    assert_eq!(toolset!(State; everything, something, r#match).names().collect::<Vec<_>>(), ["everything", "something", "match"]);
}

//! Types of the user's own may be called like those of the prelude.
#![deny(warnings)]
#![allow(deprecated)]
#![forbid(unsafe_code)]
#![allow(dead_code)]

use tool_runtime::{Context, ExecuteWith, Failure, Part, Text, tool, tools, toolset};

struct Option;
struct String;
struct Vec;
struct Box;
struct Some;
struct None;
struct Ok;
struct Err;
struct Send;
struct Sync;
struct Default;
struct Clone;
struct Copy;
struct Debug;
struct Fn;
struct Into;
struct From;
struct Input;
struct Output;
struct Tool;
struct Toolset;
struct Bind;
struct Provide;
struct Field;
struct Def;
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Result(u8);

mod std {}
mod core {}
mod alloc {}

/// Gives a result.
#[tool(timeout = "3s", title = "Give", ui(icon = "x"), examples = ["{}"], meta(a = 1))]
fn give(
    /// How much.
    #[arg(default = 3, range(0..=10), example = 4)]
    amount: u8,
    #[arg(default)] more: u8,
    #[arg(secret)] key: u8,
) -> Result {
    Result(amount + more + key)
}

/// Asks.
#[tool(external, output = u8)]
struct Ask {
    times: u8,
}

/// Works.
#[tool(state = Input)]
struct Work {
    #[arg(range(1..))]
    times: u8,
}

impl ExecuteWith<Input> for Work {
    type Output = Text;
    type Error = Failure;

    async fn execute(self, _: &Input, _: &Context) -> ::core::result::Result<Text, Failure> {
        ::core::result::Result::Err(Failure::told("no"))
    }
}

#[tools]
impl Input {
    /// Looks.
    #[tool]
    async fn look(&self) -> Text {
        Text(::std::string::String::new())
    }
}

struct State(Input);

impl tool_runtime::Provide<Input> for State {
    fn provide(&self) -> &Input {
        &self.0
    }
}

fn main() {
    let _ = toolset!(State(Input); give, Ask, Work);
    let _ = Part::text("");
}

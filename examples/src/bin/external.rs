//! A tool without a body: a client executes it. The output is checked against its type before the model sees it.
//!
//! `cargo run -p examples --bin external` prints:
//!
//! ```text
//! the client executes choose {"options":["tea","coffee"]}
//! Tea it is.
//! ```

use futures_util::future::{BoxFuture, ready};
use tool_runtime::{
    Agent, AgentError,
    agent::{ExternalCall, Operator},
    model::{ScriptedModel, Turn},
    tool, toolset,
};

/// Ask the person which one they like.
#[tool(external, output = String, name = "choose")]
struct Choose {
    /// The choices.
    #[arg(length(2..=9))]
    options: Vec<String>,
}

/// A client: a page, a terminal, a telephone.
struct Client;

impl Operator for Client {
    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        println!("the client executes {} {}", call.spec.name, call.arguments);
        Box::pin(ready(Some(call.arguments["options"][0].to_string())))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    let model =
        ScriptedModel::new([Turn::call("choose", r#"{"options": ["tea", "coffee"]}"#), Turn::say("Tea it is.")]);
    println!("{}", Agent::new(model).tools(toolset!(Choose)).operator(Client).run("Tea or coffee?").await?.text);
    Ok(())
}

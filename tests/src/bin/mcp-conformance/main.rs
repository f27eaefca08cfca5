//! The server and the client that the official MCP conformance suite, the official clients and the Inspector are run
//! against; see `scripts/mcp-peers`.
//!
//! `mcp-conformance serve [ADDRESS]` serves the suite's fixture tools, over stdin and stdout without an address;
//! `mcp-conformance ADDRESS` is the client that the suite starts; `mcp-conformance tools COMMAND ARGUMENTS…` uses a server as
//! a toolset: it reads `name arguments` from stdin, a call a line, and prints what comes of each.

mod asking;
mod client;
mod content;
mod declared;
mod long;

use std::{process::ExitCode, sync::OnceLock};

use tool_runtime::{Text, Toolset, tool, toolset};
use tool_server::mcp::{McpServer, server::TaskSupport};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done: Result<(), Box<dyn std::error::Error>> = match arguments[..] {
        ["serve"] => server().stdio().await.map_err(Into::into),
        ["serve", address] => server().http().listen(address).await.map_err(Into::into),
        ["tools", command, ref args @ ..] => client::list(command, args).await,
        [address] => client::play(address).await,
        _ => Err("usage: mcp-conformance serve [ADDRESS] | tools COMMAND ARGUMENTS… | ADDRESS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp-conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is served, for the tool that changes it.
static SERVED: OnceLock<McpServer> = OnceLock::new();

fn server() -> McpServer {
    let server = McpServer::new(tools()).name("mcp-conformance", env!("CARGO_PKG_VERSION"));
    let server = server.tasks(|spec| match spec.name.as_str() {
        "slow_compute" | "confirm_delete" | "protocol_error_job" => TaskSupport::Possible,
        "failing_job" => TaskSupport::Required,
        _ => TaskSupport::Never,
    });
    SERVED.get_or_init(|| server).clone()
}

fn tools() -> Toolset {
    let sets =
        [content::tools(), asking::tools(), declared::tools(), long::tools(), toolset!(test_trigger_tool_change)];
    sets.into_iter().try_fold(Toolset::new(), Toolset::merge).expect("each name once")
}

/// Puts the same tools on offer anew, of which clients hear.
#[tool(effect = write)]
fn test_trigger_tool_change() -> Text {
    if let Some(server) = SERVED.get() {
        server.replace(tools());
    }
    Text("The list has changed.".to_owned())
}

//! The files of a directory as an MCP server, for a desktop client. Writing and deleting ask the person first.
//!
//! In the client's configuration:
//!
//! ```json
//! { "mcpServers": { "files": { "command": "/path/to/mcp-server", "args": ["/path/to/directory"] } } }
//! ```
//!
//! To try it: `cargo run -p examples --bin mcp-server -- DIRECTORY`, or over HTTP:
//! `cargo run -p examples --bin mcp-server -- --http 127.0.0.1:8090 DIRECTORY`, then <http://127.0.0.1:8090/mcp>. The program
//! prints on stderr `serving DIRECTORY over stdin and stdout`, or `serving DIRECTORY at http://127.0.0.1:8090/mcp`.

use std::process::ExitCode;

use clap::Parser;
use examples::workspace::Workspace;
use tokio::net::TcpListener;
use tool_server::mcp::McpServer;

/// The files of a directory as an MCP server.
#[derive(Parser)]
struct Options {
    /// The directory.
    #[arg(default_value = ".")]
    directory: String,
    /// Serve over HTTP at this address in place of stdin and stdout.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Messages to a person and the log go to stderr: stdout belongs to the protocol.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match serve(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let server = McpServer::new(Workspace::open(&options.directory)?.toolset())
        .name("files", env!("CARGO_PKG_VERSION"))
        .title("Files")
        .instructions("The files of one directory. Paths are relative to it.");
    match options.http {
        None => {
            eprintln!("serving {} over stdin and stdout", options.directory);
            server.serve_stdio().await?;
        }
        Some(address) => {
            eprintln!("serving {} at http://{address}/mcp", options.directory);
            server.http().serve(TcpListener::bind(&address).await?, std::future::pending()).await?;
        }
    }
    Ok(())
}

//! The smallest chat server: `useChat` of the Vercel AI SDK and every AG-UI client can talk to it.
//!
//! `cargo run -p examples --bin serve` prints the addresses for both kinds of clients:
//!
//! ```text
//! useChat: http://127.0.0.1:3000/api/chat
//! AG-UI:   http://127.0.0.1:3000/agent
//! ```
//!
//! In another terminal, this command prints the response as a stream of events. In it, the negotiating model asks for the name:
//!
//! ```sh
//! curl -N http://127.0.0.1:3000/api/chat -H 'content-type: application/json' \
//!   -d '{"id": "chat-1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Greet Ada."}]}]}'
//! ```

use tokio::net::TcpListener;
use tool_runtime::{Agent, tool, toolset};
use tool_server::{AgUi, Server};
use tool_terminal::NegotiatingModel;

/// Greet a person.
#[tool(effect = read_only)]
async fn greet(
    /// The person's name.
    #[arg(length(1..=40))]
    name: String,
) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The log says why a model or a tool failed.
    tracing_subscriber::fmt::init();
    // In place of the model without a network: `tool_models::OpenAi::new("gpt-5.6-sol")`.
    let agent = Agent::new(NegotiatingModel::new()).tools(toolset!(greet));
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let address = listener.local_addr()?;
    println!("useChat: http://{address}/api/chat\nAG-UI:   http://{address}/agent");
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    Server::new(agent).ag_ui(AgUi::new()).serve(listener, stop).await?;
    Ok(())
}

//! The pages of AG-UI's dojo that use tools, each at its own address.
//!
//! `cargo run -p examples --bin dojo -- --port 8018`, then point a client of AG-UI at `http://127.0.0.1:8018/agentic_chat`,
//! `/backend_tool_rendering`, `/human_in_the_loop`, `/tool_based_generative_ui` or `/shared_state`. With a key in the
//! environment, the provider's model answers. Otherwise fixed rules answer the prompts of these pages.

mod rules;
mod tools;

use std::{net::IpAddr, sync::Arc};

use clap::Parser;
use tokio::net::TcpListener;
use tool_models::from_env;
use tool_runtime::{
    Agent, Toolset,
    model::{FunctionModel, Model},
};
use tool_server::{AgUi, Router, Server, serve};

#[derive(Parser)]
struct Options {
    /// The address to listen on.
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port.
    #[arg(long, env = "PORT", default_value_t = 8018)]
    port: u16,
    /// Another name that the server is reached by, such as `dojo.example`; without one, loopback's and its own address.
    #[arg(long)]
    name: Vec<String>,
    /// Another origin whose pages may ask, such as `http://localhost:3000`; without one, only programs can.
    #[arg(long)]
    origin: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let model: Arc<dyn Model> = match from_env() {
        Some(model) => Arc::from(model?),
        None => Arc::new(FunctionModel::streaming(rules::play)),
    };
    let features = [
        ("/agentic_chat", Toolset::new(), "Chat. When the user wants another background, change it."),
        ("/backend_tool_rendering", tools::weather(), "Say what the weather is. Look it up."),
        ("/human_in_the_loop", Toolset::new(), "Plan the task in steps, and let the user choose which are done."),
        ("/tool_based_generative_ui", Toolset::new(), "Write haiku, by the tool that is there for it."),
        ("/shared_state", tools::recipe(), "Write the recipe with the user. What it is now, the tools know."),
    ];
    let listener = TcpListener::bind((options.host, options.port)).await?;
    let address = listener.local_addr()?;
    let hosts = examples::hosts(address, options.name);
    let mut router = Router::new();
    for (path, tools, instructions) in features {
        let agent = Agent::new(Arc::clone(&model)).tools(tools).instructions(instructions);
        let server = Server::new(agent).ag_ui(AgUi::new().path("/")).hosts(&hosts).origins(&options.origin)?;
        router = router.nest(path, server.router());
    }
    println!("listening on http://{address}");
    serve(listener, router, async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_current() {
        tool_test_kit::types::check("dojo", &tools::weather().merge(tools::recipe()).unwrap());
    }
}

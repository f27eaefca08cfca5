//! A chat in the browser: one agent, served to a page that speaks the AI SDK's protocol and AG-UI.
//!
//! Start it with `cargo run -p examples --bin chat-server`, and open the address that it prints. The built page is part of the
//! program (`examples/frontend`, `scripts/frontend`), so cargo is enough. With a key and a model in the environment, such as
//! `OPENAI_API_KEY` and `OPENAI_MODEL`, the provider's model answers. Otherwise a model without a network asks for each parameter.

mod options;
mod page;
mod slow_model;
mod tools;
mod users;

use std::sync::Arc;

use clap::Parser as _;
use example_dialogue::DialogueModel;
use tokio::net::TcpListener;
use tool_models::from_env;
use tool_runtime::{Agent, feedback::MODEL_INSTRUCTIONS, model::Model};
use tool_server::{AgUi, BearerToken, Server};

use options::Options;
use slow_model::SlowModel;

const INSTRUCTIONS: &str = "You help with weather, train tickets and a small folder of notes. Use the tools; never invent \
                            what they could tell you.";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    if options.types {
        print!("{}", tool_server::typescript(&tools::all()));
        return Ok(());
    }
    tracing_subscriber::fmt::init();
    let model: Arc<dyn Model> = match from_env() {
        Some(model) => Arc::from(model?),
        None => Arc::new(SlowModel(DialogueModel::new())),
    };
    let agent = Agent::new(model).tools(tools::all()).instructions(format!("{INSTRUCTIONS}\n\n{MODEL_INSTRUCTIONS}"));
    let listener = TcpListener::bind((options.host, options.port)).await?;
    let tokens = users::tokens(options.user);
    let address = listener.local_addr()?;
    for (token, name) in &tokens {
        println!("{name}: http://{address}/#token={token}");
    }
    // The page states which of its runs continue without it, as with `resumable` in the AI SDK's requests.
    let ag_ui =
        AgUi::new().detach(|input| input.forwarded_props.as_ref().is_some_and(|props| props["resumable"] == true));
    let server = Server::new(agent)
        .authenticate(BearerToken::of(tokens))
        .hosts(examples::hosts(address, options.name))
        .ag_ui(ag_ui);
    let stop = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a signal to wait for, the program serves until it is killed.
            std::future::pending::<()>().await;
        }
    };
    server.merge(page::routes()).serve(listener, stop).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoder_and_schema_accept_the_same() {
        tool_test_kit::agreement::check(&tools::all(), 2000);
    }

    #[test]
    fn the_page_has_the_types_of_these_tools() {
        let types = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/frontend/src/tools.ts"));
        assert_eq!(types, tool_server::typescript(&tools::all()), "run `scripts/frontend`, which writes the file anew");
    }
}

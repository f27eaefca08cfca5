//! A refund that waits for a person, on Restate. Start it with
//! `scripts/engine restate cargo run -p tool-restate --example approval`.

use std::{env, error::Error};

use tokio::net::TcpListener;
use tool_restate::RestateStore;
use tool_runtime::{
    Agent,
    agent::{Decision, Suspend},
    model::{FunctionModel, Turn},
    run::Phase,
    tool, toolset,
};

/// Refunds an order.
#[tool(approval = always, effect = destructive)]
fn refund(
    /** The number of the order. */
    order: u32,
) -> String {
    format!("order {order} is refunded")
}

/// Returns the agent: its model asks for one refund, and then says that it is done.
fn agent(store: &RestateStore) -> Agent {
    let model = FunctionModel::new(|request| match request.messages.len() {
        1 => Turn::call("refund", serde_json::json!({ "order": 7 })),
        _ => Turn::say("The refund is done."),
    });
    // Another store would change only this line.
    Agent::new(model).tools(toolset!(refund)).operator(Suspend).store(store.clone())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt::init();
    let store = RestateStore::new(&env::var("ENGINE_INGRESS")?, &env::var("ENGINE_ADMIN")?)?;
    // This process drives runs. Others need only the server's addresses to begin runs, and to decide.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let (service, driver) = (store.clone(), agent(&store));
    tokio::spawn(async move { service.serve(listener, move |_| driver.clone()).await });
    store.register(&address).await?;

    let mut session = agent(&store).session();
    let reply = session.send("Refund order 7.").await?;
    assert_eq!(reply.phase, Phase::Suspended);
    let open = session.interrupts().next().ok_or("nothing waits")?.clone();
    println!("`{}` waits for an approval: {}", open.shown.tool, open.shown.arguments);
    let owner = session.agent().owner();
    session.decide(&open.id, Decision::Approve, owner).await?;
    println!("{}", session.resume().await?.text);
    Ok(())
}

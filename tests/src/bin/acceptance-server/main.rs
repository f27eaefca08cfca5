//! The server that acceptance tests with real clients drive: a scripted model, and one file per contract.
//!
//! `cargo run -p tool-tests --bin acceptance-server -- --port 4000`

mod ag_ui;
mod model;
mod probe;
mod tools;

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tool_runtime::{
    Agent,
    model::FunctionModel,
    toolset::{Permission, Proposal},
};
use tool_server::{Everybody, Server, serve};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};

use probe::Counters;

/// How long answers may go on when the server is told to end.
const GRACE: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Options { port, stateless } = options();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let counters = Arc::new(Counters::default());
    let agent = Agent::new(FunctionModel::streaming(model::play))
        .tools(tools::tools(Arc::clone(&counters)))
        .policy(|call: &Proposal<'_>| match call.spec.name.as_str() {
            "dropDatabase" => Permission::deny("never allowed"),
            _ => Permission::Allow,
        })
        .model_retries(1)
        .parallel(64);
    let mut server = Server::new(agent).authenticate(Everybody("acceptance".into()));
    let keys = stateless.then(|| Keyring::new("test", Key::random()));
    if let Some(keys) = &keys {
        server = server.stateless(keys, "acceptance", Arc::new(MemoryNonces::new()));
    }
    let handle = server.handle();
    let ag_ui = ag_ui::router(keys.as_ref()).map_err(std::io::Error::other)?;
    let router = server.router().merge(probe::routes(counters)).fallback_service(ag_ui);
    serve(listener, router, async {
        // Without a signal to wait for, it serves until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::spawn(async move { handle.suspend(GRACE).await });
    })
    .await
}

struct Options {
    /// Any free one without `--port`.
    port: u16,
    /// Whether the clients keep the runs, sealed.
    stateless: bool,
}

fn options() -> Options {
    let mut args = std::env::args().skip(1);
    let mut options = Options { port: 0, stateless: false };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--stateless" => options.stateless = true,
            "--port" => match args.next().map(|text| text.parse()) {
                Some(Ok(port)) => options.port = port,
                _ => usage(),
            },
            _ => usage(),
        }
    }
    options
}

fn usage() -> ! {
    eprintln!("usage: acceptance-server [--port N] [--stateless]");
    std::process::exit(2);
}

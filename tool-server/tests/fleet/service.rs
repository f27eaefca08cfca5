//! The server in a process of its own.

use std::{env, path::PathBuf, time::Duration};

use futures_util::{Stream, StreamExt as _};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent,
    model::{Delta, FunctionModel, ModelError, OwnedRequest},
};
use tool_server::{AgUi, BearerToken, Server};
use tool_stores::PostgresOptions;

use super::world::tools;
use crate::model::play;

pub(super) const URL: &str = "TOOL_FLEET_URL";
pub(super) const SCHEMA: &str = "TOOL_FLEET_SCHEMA";
pub(super) const DIR: &str = "TOOL_FLEET_DIR";
pub(super) const LEASE: &str = "TOOL_FLEET_LEASE";

/// The text that a server prints before its address.
pub(super) const READY: &str = "listening on ";

/// The pause before each delta of the model.
const PAUSE: Duration = Duration::from_millis(20);

/// Plays the script slowly.
fn play_slowly(request: OwnedRequest) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    play(request).then(async |delta| {
        tokio::time::sleep(PAUSE).await;
        delta
    })
}

/// Serves until it is killed. A token is the name of its owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the tests beside it"]
async fn serves() {
    let of = |name: &str| env::var(name).unwrap();
    let store = PostgresOptions::new().schema(of(SCHEMA)).max_connections(8).connect(&of(URL)).await.unwrap();
    let lease = Duration::from_millis(of(LEASE).parse().unwrap());
    let agent = Agent::new(FunctionModel::streaming(play_slowly)).tools(tools(&PathBuf::from(of(DIR)))).store(store);
    let server = Server::new(agent.lease_time(lease))
        .authenticate(BearerToken::new(|token| Some(token.into())))
        .max_responses(usize::MAX)
        .ag_ui(AgUi::new().detach(|_| true));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{READY}{}", listener.local_addr().unwrap());
    server.serve(listener, std::future::pending()).await.unwrap();
}

//! The contract of AG-UI: `POST /agent`.

mod model;
mod tools;

use std::sync::Arc;

use axum::Router;
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, Everybody, InvalidOrigin, Server};
use tool_stores::sealed::{Keyring, MemoryNonces};

/// Histories with a megabyte of arguments in them, more than once.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// The endpoint; with `keys`, the clients keep the runs.
pub(crate) fn router(keys: Option<&Keyring>) -> Result<Router, InvalidOrigin> {
    let agent = Agent::new(FunctionModel::streaming(model::play)).tools(tools::tools()).parallel(64);
    let server = Server::new(agent)
        .authenticate(Everybody("acceptance".into()))
        .body_limit(BODY_LIMIT)
        .origins(["https://app.example"])?
        .ag_ui(AgUi::new());
    Ok(match keys {
        Some(keys) => server.stateless(keys, "acceptance-ag-ui", Arc::new(MemoryNonces::new())).router(),
        None => server.router(),
    })
}

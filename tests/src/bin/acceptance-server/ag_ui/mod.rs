//! The contract of AG-UI: `POST /agent`.

mod model;
mod tools;

use axum::Router;
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, Everybody, Server};
use tower_http::cors::CorsLayer;

/// Histories with a megabyte of arguments in them, more than once.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// The endpoint.
pub(crate) fn router() -> Router {
    let agent = Agent::new(FunctionModel::streaming(model::play)).tools(tools::tools()).parallel(64);
    Server::new(agent)
        .authenticate(Everybody("acceptance".into()))
        .body_limit(BODY_LIMIT)
        .cors(CorsLayer::permissive())
        .ag_ui(AgUi::new())
        .router()
}

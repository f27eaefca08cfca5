//! The routes about the server itself: its tools, and whether it is up.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;

use crate::host::{ApiError, Shared};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/api/tools", get(tools)).route("/api/tools.ts", get(types))
}

/// The route of health checks. A load balancer asks by the machine's address, so it answers to every name; it reveals nothing
/// but that the server is up.
pub(crate) fn health() -> Router {
    Router::new().route("/health", get(async || Json(json!({ "status": "ok" }))))
}

async fn tools(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    shared.principal(&parts).await?;
    let specs = shared.agent.toolset().iter().map(|tool| tool.spec()).filter(|spec| !spec.is_hidden());
    let tools = specs.map(|spec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input": spec.input.neutral(),
            "output": spec.output.as_ref().map(|schema| schema.neutral()),
            "effect": spec.traits.effect,
            "approval": spec.traits.approval,
            "external": spec.traits.external,
        })
    });
    Ok(Json(tools.collect::<Vec<_>>()).into_response())
}

/// The tools as types, for who writes a frontend.
async fn types(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    shared.principal(&parts).await?;
    let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((kind, crate::typescript(shared.agent.toolset())).into_response())
}

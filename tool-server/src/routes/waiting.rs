//! The list of the calls that wait for a principal, and the principal's decisions about them.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    routing::get,
};
use serde::Deserialize;
use serde_json::Value;
use tool_runtime::{agent::Caller, run::RunId};

use super::chats::{ListQuery, read_page};
use crate::{
    host::{ApiError, Authenticated, Shared, detach, run_sized},
    http_settings::add_routes,
    protocol::parse_decision,
};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    add_routes(Router::new(), [("/api/waiting", get(list_waiting).post(decide))])
}

async fn list_waiting(
    State(shared): State<Arc<Shared>>,
    Authenticated(Caller { principal, .. }): Authenticated,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Vec<Value>>, ApiError> {
    Ok(Json(shared.waiting(&principal, read_page(query)?).await?))
}

/// A decision about a call in the list.
#[derive(Deserialize)]
struct Decided {
    run: RunId,
    id: String,
    #[serde(flatten)]
    decision: Value,
}

async fn decide(
    State(shared): State<Arc<Shared>>,
    Authenticated(Caller { principal, .. }): Authenticated,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let read = run_sized(body.len(), move || serde_json::from_slice(&body)).await?;
    let invalid = |error: String| {
        let example = r#"`{"run": …, "id": …, "decision": "approve"}`, with the `run` and the `id` of the list"#;
        ApiError::bad_request(format!("invalid decision ({error}): send {example}"))
    };
    let Decided { run, id, decision } = read.map_err(|error: serde_json::Error| invalid(error.to_string()))?;
    let decision = parse_decision(&decision).map_err(invalid)?;
    detach(Box::pin(async move { shared.decide_waiting(principal, run, &id, decision).await })).await?;
    Ok(StatusCode::NO_CONTENT)
}

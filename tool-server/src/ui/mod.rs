//! The Vercel AI SDK's chat endpoints.

mod chat;
mod chunks;

use std::sync::Arc;

use crate::protocol::ui_stream::{ChatRequest, HEADER, Level, Said, Settings};
use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};

use crate::host::{ApiError, Chat, Protocol, Shared, aside, name, owned};
pub use chunks::{Chunks, answer_with};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/chat", post(chat_of::<7>))
        .route("/api/v6/chat", post(chat_of::<6>))
        .route("/api/chat/{id}/stream", get(resume))
        .route("/api/v6/chat/{id}/stream", get(resume))
        .route("/api/chat/{id}/stop", post(stop))
        .route("/api/chat/{id}/steer", post(steer))
}

/// Answers a client of the AI SDK's version `LEVEL`.
async fn chat_of<const LEVEL: u8>(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let principal = shared.principal(&parts).await?;
    let body = shared.body(Request::from_parts(parts, body)).await?;
    let read = aside(body.len(), move || ChatRequest::read(&body)).await?;
    let request = read.map_err(|error| ApiError::bad_request(error.to_string()))?;
    let level = if LEVEL == 6 { Level::V6 } else { Level::V7 };
    let settings = (shared.ui)(Settings::new(shared.agent.toolset().clone()).level(level));
    // Boxed: a request that is refused before does not take its place.
    Box::pin(chat::answer(&shared, principal, request, settings)).await
}

/// The answer that is under way, from its beginning.
async fn resume(State(shared): State<Arc<Shared>>, Path(id): Path<String>, parts: Parts) -> Result<Response, ApiError> {
    let replay = shared.replay(Protocol::Ui, &parts, &id).await?;
    Ok(replay.map_or_else(|| StatusCode::NO_CONTENT.into_response(), marked))
}

/// Calls off the answer that is under way.
async fn stop(State(shared): State<Arc<Shared>>, Path(id): Path<String>, parts: Parts) -> Result<StatusCode, ApiError> {
    let principal = shared.principal(&parts).await?;
    if let Some(running) = shared.registry.running(&name(&principal, &id)?) {
        running.cancel.cancel();
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Says something to the answer that is under way.
async fn steer(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, ApiError> {
    let (parts, body) = request.into_parts();
    let principal = shared.principal(&parts).await?;
    let body = shared.body(Request::from_parts(parts, body)).await?;
    let said = aside(body.len(), move || Said::read(&body)).await?;
    let said = said.map_err(|error| ApiError::bad_request(error.to_string()))?;
    chat::is_readable(&said)?;
    let chat = Chat::enter(&shared, Protocol::Ui, principal, &id).await?;
    owned(Box::pin(async move { chat.steer(said.id, said.content).await })).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The response, with the header by which clients know the stream.
fn marked(mut response: Response) -> Response {
    let (name, value) = HEADER;
    response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    response
}

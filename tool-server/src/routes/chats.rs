//! The list of a principal's chats, and the routes of one chat: its messages, its title, its deletion.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
    routing::{get, patch},
};
use serde::Deserialize;
use tool_runtime::{agent::Caller, run::Principal};
use tool_schema::feedback::visible;

use crate::{
    host::{ApiError, Authenticated, Chat, ForCaller, Form, ListedChat, Loaded, Page, Shared, detach, in_pieces},
    http_settings::add_routes,
    protocol::{
        ai_sdk::{SdkVersion, UiMessage, messages},
        prompt_id,
    },
};

/// The maximum length of a title, in bytes.
const MAX_TITLE: usize = 200;

/// The default and the maximum number of items in a list.
const LIST_LENGTHS: (usize, usize) = (100, 1000);

/// The maximum number of items that a request can skip.
const MAX_OFFSET: usize = 10_000;

pub(crate) fn routes() -> Router<Arc<Shared>> {
    let routes = [
        ("/api/chats", get(list_chats)),
        ("/api/chat/{id}", get(get_messages::<7>).merge(patch(rename_chat)).delete(delete_chat)),
        ("/api/v6/chat/{id}", get(get_messages::<6>)),
    ];
    add_routes(Router::new(), routes)
}

/// The part of a list that a client requests.
#[derive(Deserialize)]
pub struct ListQuery {
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

async fn list_chats(
    State(shared): State<Arc<Shared>>,
    Authenticated(Caller { principal, .. }): Authenticated,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Vec<ListedChat>>, ApiError> {
    Ok(Json(shared.chats(&principal, read_page(query)?).await?))
}

/// Returns the part of a list that a client requests.
pub fn read_page(query: Result<Query<ListQuery>, QueryRejection>) -> Result<Page, ApiError> {
    let wrong = || {
        let text = "are numbers, such as `?offset=100&limit=50`";
        ApiError::bad_request(format!("invalid query: `offset` (at most {MAX_OFFSET}) and `limit` {text}"))
    };
    let Query(ListQuery { offset, limit }) = query.ok().filter(|query| query.offset <= MAX_OFFSET).ok_or_else(wrong)?;
    Ok(Page { offset, limit: limit.unwrap_or(LIST_LENGTHS.0).min(LIST_LENGTHS.1) })
}

/// Returns the messages of a chat, for a client of the AI SDK's version `VERSION` that has none of them. A response that the
/// client can read from its stream is left out.
async fn get_messages<const VERSION: u8>(
    ForCaller(shared, principal): ForCaller,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let version = if VERSION == 6 { SdkVersion::V6 } else { SdkVersion::V7 };
    let settings = shared.ai_sdk_settings(version, &principal);
    let chat = Chat::enter(&shared, Form::AiSdk(version), principal, &id).await?;
    let write = move |Loaded { session, response, is_elsewhere, .. }: Loaded| {
        let run = session.run();
        let pending = response.as_ref().and_then(|response| response.pending_prompt(run));
        let messages = messages(run, &settings, is_elsewhere || response.is_some() && pending.is_none());
        let pending = pending
            .map(|prompt| UiMessage::user(prompt_id(prompt.id.as_deref(), run.messages().len()), &prompt.content));
        (write_array(messages.chain(pending)), None)
    };
    let (transcript, _) = chat.transcript(String::new(), write).await?;
    let bytes = transcript.bytes();
    let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json")), (CONTENT_LENGTH, bytes.len().into())];
    Ok((headers, Body::from_stream(in_pieces([bytes]))).into_response())
}

/// Returns the messages as JSON. Each is dropped once it is written.
fn write_array(messages: impl Iterator<Item = UiMessage>) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (at, message) in messages.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        // A write into memory cannot fail, and neither can these types.
        let _ = serde_json::to_writer(&mut out, &message);
    }
    out.push(b']');
    out
}

async fn rename_chat(
    State(shared): State<Arc<Shared>>,
    Authenticated(Caller { principal, .. }): Authenticated,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        title: String,
    }
    let named: Option<Named> = serde_json::from_slice(&body).ok();
    let title = named.map(|named| named.title.trim().to_owned());
    let is_title = |title: &String| {
        title.len() <= MAX_TITLE && !title.chars().any(char::is_control) && !visible(title).trim().is_empty()
    };
    let title = title.filter(is_title).ok_or_else(|| {
        let text = "a string of 1 to 200 bytes, with a visible character and without control characters";
        ApiError::bad_request(format!("invalid title: send `{{\"title\": \"…\"}}` with {text}"))
    })?;
    let chat = enter(&shared, principal, &id).await?;
    detach(Box::pin(chat.rename(title))).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn delete_chat(
    State(shared): State<Arc<Shared>>,
    Authenticated(Caller { principal, .. }): Authenticated,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let chat = enter(&shared, principal, &id).await?;
    detach(Box::pin(chat.delete())).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn enter(shared: &Arc<Shared>, principal: Principal, id: &str) -> Result<Chat, ApiError> {
    Chat::enter(shared, Form::AiSdk(SdkVersion::V7), principal, id).await
}

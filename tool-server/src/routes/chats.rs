//! The list of a principal's chats, and the routes of one chat: its messages, its title, its deletion.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::StatusCode,
    routing::{get, patch},
};
use serde::Deserialize;
use tool_runtime::run::Principal;
use tool_schema::feedback::visible;

use crate::{
    host::{ApiError, Caller, Chat, ListedChat, Page, Protocol, Shared, detach},
    http_settings::add_routes,
    protocol::{
        ai_sdk::{SdkVersion, UiMessage, history},
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
    Caller(principal): Caller,
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
    State(shared): State<Arc<Shared>>,
    Caller(principal): Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<UiMessage>>, ApiError> {
    let version = if VERSION == 6 { SdkVersion::V6 } else { SdkVersion::V7 };
    let settings = shared.ai_sdk_settings(version, &principal);
    let chat = enter(&shared, principal, &id).await?;
    let (session, active, is_elsewhere) = chat.reload_and_keep().await?;
    let read = move || {
        let run = session.run();
        let pending = active.as_ref().and_then(|active| active.pending_prompt(run));
        let mut messages = history(run, &settings, is_elsewhere || active.is_some() && pending.is_none());
        if let Some(prompt) = pending {
            messages.push(UiMessage::user(prompt_id(prompt.id.as_deref(), run.messages().len()), &prompt.content));
        }
        messages
    };
    tokio::task::spawn_blocking(read).await.map(Json).map_err(|error| ApiError::internal().cause(&error))
}

async fn rename_chat(
    State(shared): State<Arc<Shared>>,
    Caller(principal): Caller,
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
    Caller(principal): Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let chat = enter(&shared, principal, &id).await?;
    detach(Box::pin(chat.delete())).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn enter(shared: &Arc<Shared>, principal: Principal, id: &str) -> Result<Chat, ApiError> {
    Chat::enter(shared, Protocol::AiSdk, principal, id).await
}

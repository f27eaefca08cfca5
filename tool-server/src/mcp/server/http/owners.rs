//! On whose behalf a request is made.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::WWW_AUTHENTICATE};
use tool_runtime::run::Principal;

use crate::{Authenticate, mcp::server::caller::Authenticated};

const SESSION: &str = "mcp-session-id";

/// How many sessions are remembered; of older ones, one more is forgotten for each that is new. Who has a forgotten one
/// begins another.
const MOST_SESSIONS: usize = 65_536;

/// Authenticates requests, and knows whose each session is.
#[derive(Clone)]
pub(super) struct Owners {
    authenticate: Arc<dyn Authenticate>,
    challenge: HeaderValue,
    sessions: Arc<Mutex<HashMap<String, Principal>>>,
}

impl Owners {
    pub(super) fn new(authenticate: Arc<dyn Authenticate>, challenge: Option<HeaderValue>) -> Self {
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        Self { authenticate, challenge, sessions: Arc::default() }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Principal>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn check(State(owners): State<Owners>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let principal = match owners.authenticate.authenticate(&parts).await {
        Ok(principal) => principal,
        Err(refused) => {
            let mut response = refused.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, owners.challenge);
            }
            return response;
        }
    };
    let mut request = Request::from_parts(parts, body);
    let session = session(request.headers());
    if let Some(session) = &session
        && owners.sessions().get(session) != Some(&principal)
    {
        // As if it were not there: whether it is, is nobody else's business.
        return StatusCode::NOT_FOUND.into_response();
    }
    request.extensions_mut().insert(Authenticated(principal.clone()));
    let ends = request.method() == Method::DELETE;
    let response = next.run(request).await;
    let mut sessions = owners.sessions();
    match session {
        Some(session) if ends || response.status() == StatusCode::NOT_FOUND => drop(sessions.remove(&session)),
        Some(_) => {}
        None => {
            if let Some(begun) = self::session(response.headers()) {
                if sessions.len() >= MOST_SESSIONS
                    && let Some(other) = sessions.keys().next().cloned()
                {
                    sessions.remove(&other);
                }
                sessions.insert(begun, principal);
            }
        }
    }
    drop(sessions);
    response
}

fn session(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(SESSION)?.to_str().ok()?.to_owned())
}

//! Errors as HTTP responses.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;
use tool_runtime::{AgentError, run::Refusal, store::StoreError};

/// An error response: a status, a code for programs, and for people what was wrong and what to do.
///
/// It reveals nothing of the server's inside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// The code for programs.
    pub code: &'static str,
    /// The problem, and what to do about it.
    pub message: String,
}

impl ApiError {
    /// Returns an error of this status.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// Returns the error of a request that cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Returns the error of a request that does not fit the chat as the server knows it.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// Returns the error of a request that has more than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("a request has at most {limit} bytes"))
    }

    /// Returns the error of a request without a known principal.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
    }

    /// Returns the error of a request at which the server failed. It does not say how.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; try again later")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": { "code": self.code, "message": self.message } }))).into_response()
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Refused(refusal) => refusal.into(),
            AgentError::Store(StoreError::Leased { .. } | StoreError::Fenced | StoreError::Conflict) => {
                Self::conflict("this chat is busy elsewhere; try again when its answer has ended")
            }
            AgentError::Store(StoreError::NotFound) => Self::new(StatusCode::NOT_FOUND, "not_found", "no such chat"),
            AgentError::Store(StoreError::Unavailable { .. }) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the chat cannot be loaded now; try again later",
            ),
            _ => Self::internal(),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::Forbidden => StatusCode::FORBIDDEN,
            Refusal::Invalid { .. } | Refusal::NotOffered { .. } | Refusal::OverBudget { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::CONFLICT,
        };
        let code = if status == StatusCode::FORBIDDEN { "forbidden" } else { "refused" };
        Self::new(status, code, refusal.to_string())
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

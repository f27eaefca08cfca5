//! The server for one caller: the state of a request, with the caller's own agent.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};
use tool_runtime::{agent::Caller, run::Principal};

use super::{ApiError, Authenticated, Shared};

/// An extractor of the state for a request's caller, and of the principal.
pub(crate) struct ForCaller(pub(crate) Arc<Shared>, pub(crate) Principal);

impl FromRequestParts<Arc<Shared>> for ForCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, ApiError> {
        let Authenticated(caller) = Authenticated::from_request_parts(parts, shared).await?;
        let principal = caller.principal.clone();
        Ok(Self(shared.for_caller(caller).await?, principal))
    }
}

impl Shared {
    /// Returns this state with the agent of `caller`.
    ///
    /// Fails if the application's function for callers fails.
    async fn for_caller(self: &Arc<Self>, caller: Caller) -> Result<Arc<Self>, ApiError> {
        let agent = self.agent.for_caller(caller).await?;
        Ok(Arc::new(Self { agent, ..Self::clone(self) }))
    }
}

//! The parts that all protocols share: authentication, the chats in use, and the answers on their way to clients.
//!
//! A protocol reads a request, enters the [`Chat`], and opens or creates its session. It decides what the request claims about
//! open interrupts, and gives the session and an [`Encoder`](crate::protocol::Encoder) to [`Chat::answer`].

mod answer;
mod chat;
mod error;
mod principal;
mod registry;
mod replay;
mod seal;

use std::sync::{Arc, atomic::AtomicUsize};

use crate::protocol::ui_stream::Settings;
use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::StatusCode,
    response::Response,
};
use tool_runtime::{Agent, run::Principal};

pub(crate) use answer::{OnLeave, Start, detach, stream};
pub(crate) use chat::{Chat, Decided, cancel_open, name};
pub use error::ApiError;
pub(crate) use principal::Caller;
pub use principal::{Authenticate, BearerToken, Everybody};
pub use registry::ShutdownHandle;
pub(crate) use registry::{Protocol, Registry};
pub(crate) use replay::{ReplayBuffer, ReplayLimits};
pub(crate) use seal::Seals;

/// The state that every request needs.
pub(crate) struct Shared {
    pub(crate) agent: Agent,
    pub(crate) authenticate: Arc<dyn Authenticate>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) seals: Option<Seals>,
    pub(crate) limits: ReplayLimits,
    /// How many answers are kept now.
    pub(crate) buffers: Arc<AtomicUsize>,
    pub(crate) body_limit: usize,
    pub(crate) ui: UiSettings,
}

/// How many bytes of a request are read on the runtime's own threads: that takes less than a millisecond.
const INLINE: usize = 64 * 1024;

/// Does `work` that takes as long as a request of so many `bytes`. Long work has a thread of its own, so that other requests
/// go on.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    if bytes <= INLINE {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::internal())
}

/// A change of the AI SDK's streams by the application.
pub(crate) type UiSettings = Arc<dyn Fn(Settings) -> Settings + Send + Sync>;

impl Shared {
    /// Returns the answer of a chat that is under way, from its beginning; `None` when there is none, or its beginning is
    /// gone.
    pub(crate) fn replay(
        &self,
        protocol: Protocol,
        principal: &Principal,
        id: &str,
    ) -> Result<Option<Response>, ApiError> {
        let active = self.registry.active(&name(principal, id)?).filter(|active| active.protocol == protocol);
        Ok(active.and_then(|active| active.replay()))
    }
}

/// The whole body of a request.
pub(crate) struct WholeBody(pub(crate) Bytes);

impl FromRequest<Arc<Shared>> for WholeBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, ApiError> {
        let body = Bytes::from_request(request, shared).await;
        body.map(Self).map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_large(shared.body_limit),
            status => ApiError::new(status, "bad_request", "the body did not arrive as a whole; send it again"),
        })
    }
}

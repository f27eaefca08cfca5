//! What all protocols share: who asks, the chats under way, and the answers on their way to the clients.
//!
//! A protocol reads a request, enters the [`Chat`], opens or creates its session, decides what the request claims about open
//! obligations, and gives session, work and a [`Wire`](crate::protocol::Wire) to [`Chat::answer`].

mod answer;
mod chat;
mod error;
mod feed;
mod handle;
mod principal;
mod registry;
mod seal;

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use crate::protocol::ui_stream::Settings;
use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{StatusCode, request::Parts},
    response::Response,
};
use tool_runtime::{Agent, run::Principal};

pub(crate) use answer::{OnLeave, Work, owned, stream};
pub(crate) use chat::{Chat, Taken, name, retire};
pub use error::ApiError;
pub(crate) use feed::{Feed, FeedLimits};
pub use handle::Handle;
pub use principal::{Authenticate, BearerToken, Everybody};
pub(crate) use registry::{Protocol, Registry};
pub(crate) use seal::Seals;

/// What every request needs.
pub(crate) struct Shared {
    pub(crate) agent: Agent,
    pub(crate) authenticate: Arc<dyn Authenticate>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) seals: Option<Seals>,
    pub(crate) limits: FeedLimits,
    /// How many answers are kept now.
    pub(crate) feeds: Arc<AtomicUsize>,
    pub(crate) body_limit: usize,
    pub(crate) ui: UiSettings,
}

/// How many bytes of a request are read on the runtime's own threads: that takes less than a millisecond.
const INLINE: usize = 64 * 1024;

/// Does `work` that is as long as a request of so many `bytes`. Long work has a thread of its own, so that other requests go on.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    if bytes <= INLINE {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::internal())
}

/// What an application changes of the AI SDK's streams.
pub(crate) type UiSettings = Arc<dyn Fn(Settings) -> Settings + Send + Sync>;

impl Shared {
    pub(crate) async fn principal(&self, request: &Parts) -> Result<Principal, ApiError> {
        self.authenticate.authenticate(request).await
    }

    /// The whole body, of somebody who is known by now.
    pub(crate) async fn body(&self, request: Request) -> Result<Bytes, ApiError> {
        Bytes::from_request(request, &()).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_large(self.body_limit),
            status => ApiError::new(status, "bad_request", "the body did not arrive as a whole; send it again"),
        })
    }

    /// The answer of a chat that is under way, from its beginning; `None` when there is none, or its beginning is gone.
    pub(crate) async fn replay(
        &self,
        protocol: Protocol,
        request: &Parts,
        id: &str,
    ) -> Result<Option<Response>, ApiError> {
        let principal = self.principal(request).await?;
        let running = self.registry.running(&name(&principal, id)?).filter(|running| running.protocol == protocol);
        Ok(running.and_then(|running| running.replay()))
    }
}

/// How much of answers is kept for who reads them late or slowly, unless the server is told otherwise.
pub(crate) const DEFAULT_FEED: FeedLimits =
    FeedLimits { bytes: 8 * 1024 * 1024, total: 256 * 1024 * 1024, keep_alive: Duration::from_secs(15) };

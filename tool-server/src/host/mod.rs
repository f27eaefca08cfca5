//! What all protocols share: who asks, the chats under way, and the answers on their way to the clients.
//!
//! A protocol reads a request, enters the [`Chat`], opens or creates its session, decides what the request claims about open
//! obligations, and gives session, work and a [`Wire`](tool_runtime::protocol::Wire) to [`Chat::answer`].

mod answer;
mod chat;
mod error;
mod feed;
mod handle;
mod principal;
mod registry;
mod seal;

use std::{sync::Arc, time::Duration};

use axum::http::request::Parts;
use tool_runtime::{Agent, run::Principal};

pub(crate) use answer::{OnLeave, Work, stream};
pub(crate) use chat::{Chat, name, retire};
pub use error::ApiError;
pub(crate) use feed::FeedLimits;
pub use handle::Handle;
pub use principal::{Authenticate, BearerToken, Everybody};
pub(crate) use registry::Registry;
pub(crate) use seal::Seals;

/// What every request needs.
pub(crate) struct Shared {
    pub(crate) agent: Agent,
    pub(crate) authenticate: Arc<dyn Authenticate>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) seals: Option<Seals>,
    pub(crate) limits: FeedLimits,
    pub(crate) body_limit: usize,
}

impl Shared {
    pub(crate) async fn principal(&self, request: &Parts) -> Result<Principal, ApiError> {
        self.authenticate.authenticate(request).await
    }
}

/// How much of an answer is kept for who reads it late or slowly, unless the server is told otherwise.
pub(crate) const DEFAULT_FEED: FeedLimits = FeedLimits { bytes: 8 * 1024 * 1024, keep_alive: Duration::from_secs(15) };

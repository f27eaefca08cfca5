//! An answer that the application writes itself.

use std::{fmt, sync::Arc};

use crate::protocol::{
    End, Wire,
    ui_stream::{Chunk, DONE, Level, frame},
};
use axum::response::Response;
use tool_runtime::{Cancellation, agent::Event};

use super::marked;
use crate::host::{DEFAULT_FEED, Feed, stream};

/// Answers a client of the AI SDK with the chunks that `write` writes, without an agent. What is ready goes out at once, as one
/// frame. When the client leaves, or reads so slowly that more than 8 MiB wait for it, `write` is dropped.
///
/// The chunks must be in an order that clients take: `start` first, `finish` last.
///
/// ```
/// use axum::{Router, response::Response, routing::post};
/// use tool_server::protocol::ui_stream::{Chunk, Finish, Level};
/// use tool_server::answer_with;
///
/// async fn hello() -> Response {
///     answer_with(Level::V7, async |chunks| {
///         chunks.write(&Chunk::Start { message_id: Some("m1"), message_metadata: None });
///         chunks.write(&Chunk::TextStart { id: "0", provider_metadata: None });
///         for delta in ["Hel", "lo."] {
///             chunks.write(&Chunk::TextDelta { id: "0", delta, provider_metadata: None });
///             tokio::task::yield_now().await;
///         }
///         chunks.write(&Chunk::TextEnd { id: "0", citations: None, provider_metadata: None });
///         chunks.write(&Chunk::Finish { finish_reason: Some(Finish::Stop), message_metadata: None });
///     })
/// }
/// let router: Router = Router::new().route("/api/hello", post(hello));
/// # let _ = router;
/// ```
pub fn answer_with<F>(level: Level, write: impl FnOnce(Chunks) -> F + Send + 'static) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let cancel = Cancellation::new();
    let feed = Feed::new(DEFAULT_FEED, &Arc::default());
    let left = cancel.clone();
    feed.begin(
        Box::new(Written),
        None,
        Some(Box::new(move |has_left| {
            if has_left {
                left.cancel();
            }
        })),
    );
    let response = marked(stream(feed.read_once()));
    let chunks = Chunks { level, feed };
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = write(chunks) => {}
        }
    });
    response
}

/// Where the chunks of an answer go. When it is dropped, the answer has ended.
pub struct Chunks {
    level: Level,
    feed: Arc<Feed>,
}

impl Chunks {
    /// Writes `chunk`; nothing, if clients of the answer's level do not know it. Never waits.
    pub fn write(&self, chunk: &Chunk<'_>) {
        self.feed.write(|_, out| frame(chunk, self.level, out));
    }

    /// Waits until the client has read enough that there is room for more.
    pub async fn room(&self) {
        self.feed.until_room().await;
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.feed.end(End::new(None, None));
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Chunks").field("level", &self.level).finish_non_exhaustive()
    }
}

/// The wire of an answer that is no run's.
struct Written;

impl Wire for Written {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn event(&mut self, _: Event<'_>, _: std::time::Duration, _: &mut Vec<u8>) {}

    fn end(&mut self, _: End<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}

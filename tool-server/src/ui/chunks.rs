//! An answer that the application writes itself.

use std::{fmt, sync::Arc};

use crate::protocol::{
    Encoder, End,
    ui_stream::{Chunk, DONE, Level, frame},
};
use axum::response::Response;
use tool_runtime::{Cancellation, agent::Event};

use super::with_stream_header;
use crate::host::{ReplayBuffer, ReplayLimits, stream};

/// Answers a client of the AI SDK with the chunks that `write` writes, without an agent. All ready bytes go out at once, as one
/// frame. When the client leaves, or reads so slowly that more than 8 MiB wait for it, `write` is dropped.
///
/// The chunks must be in an order that clients accept: `start` first, `finish` last.
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
    let buffer = ReplayBuffer::new(ReplayLimits::default(), &Arc::default());
    let left = cancel.clone();
    let on_readers = Box::new(move |have_left| {
        if have_left {
            left.cancel();
        }
    });
    buffer.begin(Box::new(Written), None, Some(on_readers));
    let response = with_stream_header(stream(buffer.read(true)));
    let chunks = Chunks { level, buffer };
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = write(chunks) => {}
        }
    });
    response
}

/// The chunks of an answer. Dropping it ends the answer.
pub struct Chunks {
    level: Level,
    buffer: Arc<ReplayBuffer>,
}

impl Chunks {
    /// Writes `chunk`, unless it is unknown to clients of the answer's level. Never waits.
    pub fn write(&self, chunk: &Chunk<'_>) {
        self.buffer.write(|_, out| frame(chunk, self.level, out));
    }

    /// Waits until the client has read enough to make room for more.
    pub async fn room(&self) {
        self.buffer.until_room().await;
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.buffer.end(End::new(None, None));
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Chunks").field("level", &self.level).finish_non_exhaustive()
    }
}

/// The encoder of an answer without a run.
struct Written;

impl Encoder for Written {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn event(&mut self, _: Event<'_>, _: std::time::Duration, _: &mut Vec<u8>) {}

    fn end(&mut self, _: End<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(DONE);
    }
}

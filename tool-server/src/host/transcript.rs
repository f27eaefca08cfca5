//! The conversations of chats in the bytes of a protocol, for clients that have nothing of them. All clients that request one at
//! the same time share one copy.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Weak},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream::unfold;
use tokio::time::Instant;
use tool_run::run::Digest;
use tool_runtime::run::RunId;

use super::{
    ApiError, Chat, lock,
    registry::{ChatGuard, ChatResponse, Form},
    reload::Loaded,
    replay::event_stream,
    shares::BytesPermit,
};
use crate::protocol::Encoder;

/// The size of a piece of a body, in bytes.
const PIECE: usize = 64 * 1024;

/// The time that a client has for a body, beside a second for each [`SEND_RATE`] bytes.
const SEND_TIME: Duration = Duration::from_mins(1);

/// The number of bytes of a body that a slow client must take in a second.
const SEND_RATE: usize = 16 * 1024;

/// A conversation, as the bytes that clients receive. It counts as bytes of its principal as long as a client receives it.
pub(crate) struct Transcript {
    bytes: Bytes,
    /// The encoder that wrote the bytes, if the frames before and after them name a request.
    pub(crate) encoder: Option<Box<dyn Encoder + Sync>>,
    /// The run whose answer is being written elsewhere, and may be left out.
    elsewhere: Option<RunId>,
    _permit: BytesPermit,
    /// Keeps the entry of the chat, through which later requests find this transcript.
    _guard: ChatGuard,
}

/// A transcript that clients receive, with the state of the chat that it shows.
pub(crate) struct KnownTranscript {
    form: Form,
    tools: String,
    run: RunId,
    /// The number of entries in the run's log, and the digest of its end.
    rev: u64,
    end: Digest,
    /// The response that is not in the transcript, because clients read it separately.
    response: Option<Weak<ChatResponse>>,
    /// Set if a response in this form was in progress here.
    is_active: bool,
    transcript: Weak<Transcript>,
}

/// The bytes of a transcript, and its encoder.
pub(crate) type Written = (Vec<u8>, Option<Box<dyn Encoder + Sync>>);

impl Transcript {
    /// Returns the bytes, which keep the transcript.
    pub(crate) fn bytes(self: &Arc<Self>) -> Bytes {
        struct Owner(Arc<Transcript>);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.0.bytes
            }
        }
        Bytes::from_owner(Owner(Arc::clone(self)))
    }
}

impl Chat {
    /// Returns the chat as `write` writes it on a blocking thread, and the response that the client can read, as
    /// [`Chat::load`] does. The text `tools` describes the client's tools. Returns a transcript that other clients receive now, if it shows the chat as it is.
    ///
    /// Fails if there is no such chat, or if transcripts take up all the bytes that they may.
    pub(crate) async fn transcript(
        self,
        tools: String,
        write: impl FnOnce(Loaded) -> Written + Send + 'static,
    ) -> Result<(Arc<Transcript>, Option<Arc<ChatResponse>>), ApiError> {
        let chat = self.wait_until_stored().await?;
        let readable = chat.readable();
        let (transcript, response) = match chat.find_transcript(&tools, readable.as_ref()).await? {
            Some(known) => (known, readable),
            None => chat.write_transcript(tools, readable, write).await?,
        };
        // Clients of the AI SDK read the response with a second request.
        if matches!(chat.form, Form::AiSdk(_)) {
            match (&response, &transcript.elsewhere) {
                (Some(response), _) => chat.keep_readable(response),
                (None, Some(run)) => chat.leave_out(run),
                (None, None) => chat.forget_left_out(),
            }
        }
        Ok((transcript, response))
    }

    async fn write_transcript(
        &self,
        tools: String,
        response: Option<Arc<ChatResponse>>,
        write: impl FnOnce(Loaded) -> Written + Send + 'static,
    ) -> Result<(Arc<Transcript>, Option<Arc<ChatResponse>>), ApiError> {
        let is_active = self.guard.active_in(&self.form).is_some();
        let permit = self.acquire_load().await?;
        let loaded = self.load(response).await?;
        // It may belong to another run of the chat.
        let response = loaded.response.clone();
        let (run, rev) = (loaded.session.id().clone(), loaded.session.run().rev());
        let elsewhere = loaded.is_elsewhere.then(|| run.clone());
        let end = self.digest_at(&run, rev).await?;
        let write = move || {
            let (mut bytes, encoder) = write(loaded);
            // It grew by doubling.
            bytes.shrink_to_fit();
            drop(permit);
            (Bytes::from(bytes), encoder)
        };
        let written = tokio::task::spawn_blocking(write).await;
        let (bytes, encoder) = written.map_err(|error| ApiError::internal().cause(&error))?;
        let permit = self.acquire_bytes(bytes.len())?;
        let transcript =
            Arc::new(Transcript { bytes, encoder, elsewhere, _permit: permit, _guard: self.guard.clone() });
        let mut known = lock(&self.guard.transcripts);
        known.retain(|known| known.transcript.strong_count() > 0);
        // Others cannot find a transcript of a log that has grown meanwhile.
        known.extend(end.map(|end| KnownTranscript {
            form: self.form.clone(),
            tools,
            run,
            rev,
            end,
            response: response.as_ref().map(Arc::downgrade),
            is_active,
            transcript: Arc::downgrade(&transcript),
        }));
        Ok((transcript, response))
    }

    /// Returns a response with all frames of an event stream. They count as bytes of the principal until they are sent.
    ///
    /// Fails if transcripts take up all the bytes that they may.
    pub(crate) fn send_frames(&self, frames: Vec<u8>) -> Result<Response, ApiError> {
        struct Frames(Vec<u8>, #[expect(dead_code, reason = "dropped with the frames")] BytesPermit);
        impl AsRef<[u8]> for Frames {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        let permit = self.acquire_bytes(frames.len())?;
        Ok(event_stream(in_pieces([Bytes::from_owner(Frames(frames, permit))])))
    }

    fn acquire_bytes(&self, bytes: usize) -> Result<BytesPermit, ApiError> {
        let permit = self.shared.transcripts.acquire(&self.principal, bytes);
        permit.ok_or_else(|| ApiError::busy("too many long chats are being sent; try again in a minute"))
    }

    /// Returns the transcript that shows the chat as it is, if clients receive it now.
    async fn find_transcript(
        &self,
        tools: &str,
        response: Option<&Arc<ChatResponse>>,
    ) -> Result<Option<Arc<Transcript>>, ApiError> {
        let is_active = self.guard.active_in(&self.form).is_some();
        let is_same = |known: &&KnownTranscript| {
            let of = known.response.as_ref().map(Weak::as_ptr);
            let is_for_client = known.form == self.form && known.tools == tools;
            is_for_client && known.is_active == is_active && of == response.map(Arc::as_ptr)
        };
        let found = {
            let known = lock(&self.guard.transcripts);
            let latest =
                known.iter().rev().filter(is_same).find_map(|known| Some((known, known.transcript.upgrade()?)));
            latest.map(|(known, transcript)| (known.run.clone(), known.rev, known.end, transcript))
        };
        let Some((run, rev, end, transcript)) = found else { return Ok(None) };
        let is_latest = self.run_id(self.latest_generation().await?) == run;
        let is_current = is_latest && self.digest_at(&run, rev).await? == Some(end);
        Ok(is_current.then_some(transcript))
    }
}

/// Returns a body of these parts, in pieces. It fails if the client takes it too slowly.
pub(crate) fn in_pieces(parts: impl IntoIterator<Item = Bytes>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let parts: VecDeque<Bytes> = parts.into_iter().collect();
    let (began, sent) = (Instant::now(), 0);
    unfold((parts, sent), move |(mut parts, sent)| async move {
        let piece = next_piece(&mut parts)?;
        let time = SEND_TIME + Duration::from_secs((sent / SEND_RATE) as u64);
        if began.elapsed() > time {
            return Some((Err(io::Error::other("the client reads too slowly")), (VecDeque::new(), sent)));
        }
        let sent = sent + piece.len();
        Some((Ok(piece), (parts, sent)))
    })
}

/// Removes the next piece of these parts.
pub(crate) fn next_piece(parts: &mut VecDeque<Bytes>) -> Option<Bytes> {
    loop {
        let part = parts.front_mut()?;
        if part.len() > PIECE {
            return Some(part.split_to(PIECE));
        }
        let last = parts.pop_front()?;
        if !last.is_empty() {
            return Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_is_sent_in_pieces_to_a_client_that_takes_them_in_time() {
        let bytes = Bytes::from((0..=u8::MAX).cycle().take(400_000).collect::<Vec<_>>());
        let parts = [bytes.slice(..3), Bytes::new(), bytes.slice(3..)];
        let read = async |pause: u64| {
            let (mut body, mut read) = (Box::pin(in_pieces(parts.clone())), Vec::new());
            while let Some(piece) = body.next().await {
                let piece = piece.map_err(|_| read.len())?;
                assert!((1..=PIECE).contains(&piece.len()));
                read.extend_from_slice(&piece);
                tokio::time::sleep(Duration::from_secs(pause)).await;
            }
            Ok::<_, usize>(read)
        };
        assert!(read(4).await.unwrap() == bytes, "64 KiB in four seconds");
        let sent = read(30).await.unwrap_err();
        assert!((1..bytes.len()).contains(&sent), "{sent} bytes at 2 KiB a second");
    }
}

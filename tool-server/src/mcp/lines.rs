//! The transport over a pair of streams: a message is a line.

use std::{collections::VecDeque, io, sync::Arc};

use bytes::{Buf, BytesMut};
use futures_util::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::Mutex,
};

use super::message::{InvalidMessage, MessageReader, ReadMessage, without_mark};
use crate::host::{ApiError, MAX_INLINE_BYTES, run_sized};

/// The maximum length of a line, in bytes. A longer line is dropped, because its end may never come.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The minimum number of bytes for which there is room when the stream is read.
const READ_BYTES: usize = 2048;

/// The messages of a line.
type MessagesOf<D> = VecDeque<ReadMessage<<D as MessageReader>::Role>>;

/// A transport over a pair of streams.
///
/// Both of its futures can be dropped and begun again, because rmcp does that whenever it has something else to do.
pub struct Lines<D: MessageReader, I, O> {
    reader: D,
    input: I,
    /// The bytes after the last line that was read.
    bytes: BytesMut,
    /// The number of these bytes that contain no end of a line.
    searched: usize,
    /// The messages of the last line.
    messages: MessagesOf<D>,
    /// Set while the end of a line that is too long is awaited.
    is_discarding: bool,
    output: Arc<Mutex<Option<O>>>,
    /// The response to an invalid message, while it is sent.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
    /// The reading of a long line on another thread.
    reading: Option<BoxFuture<'static, Result<MessagesOf<D>, ApiError>>>,
}

impl<D, I, O> Lines<D, I, O>
where
    D: MessageReader,
    I: AsyncRead + Send + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
{
    pub fn new(reader: D, input: I, output: O) -> Self {
        Self {
            reader,
            input,
            bytes: BytesMut::new(),
            searched: 0,
            messages: VecDeque::new(),
            is_discarding: false,
            output: Arc::new(Mutex::new(Some(output))),
            refusal: None,
            reading: None,
        }
    }

    /// Reads up to the end of a line, and continues a line that an earlier call began. Returns the length of the line at the
    /// start of `bytes`, and `None` at the end of the stream. Its last line must have an end, too.
    async fn read_line(&mut self) -> Option<usize> {
        loop {
            let end = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let length = std::mem::take(&mut self.searched) + end + 1;
                if !std::mem::take(&mut self.is_discarding) && length <= MAX_LINE_BYTES {
                    return Some(length);
                }
                self.bytes.advance(length);
                continue;
            }
            self.is_discarding |= self.bytes.len() > MAX_LINE_BYTES;
            if self.is_discarding {
                self.bytes.clear();
            }
            if self.bytes.is_empty() && self.bytes.capacity() > MAX_INLINE_BYTES {
                self.bytes = BytesMut::new();
            }
            self.searched = self.bytes.len();
            self.bytes.reserve(READ_BYTES);
            if self.input.read_buf(&mut self.bytes).await.ok()? == 0 {
                return None;
            }
        }
    }
}

/// Reads the message of a line, or the messages if it is a batch.
fn read_messages<D: MessageReader>(reader: &D, line: &[u8]) -> MessagesOf<D> {
    let line = without_mark(line.trim_ascii());
    let batch = reader.read_batch(line);
    match batch[..] {
        [] if line.is_empty() => VecDeque::new(),
        [] => VecDeque::from([reader.read(line)]),
        _ => batch.into_iter().map(|message| reader.read(message.get().as_bytes())).collect(),
    }
}

/// Writes a message as a line.
async fn write_line<O: AsyncWrite + Unpin>(
    output: Arc<Mutex<Option<O>>>,
    line: serde_json::Result<Vec<u8>>,
) -> io::Result<()> {
    let mut line = line?;
    line.push(b'\n');
    let mut output = output.lock().await;
    let output =
        output.as_mut().ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the connection is closed"))?;
    output.write_all(&line).await?;
    output.flush().await
}

impl<D, I, O> Transport<D::Role> for Lines<D, I, O>
where
    D: MessageReader,
    I: AsyncRead + Send + Unpin,
    O: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<D::Role>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write_line(Arc::clone(&self.output), self.reader.write(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<D::Role>> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                refusal.await.ok()?;
                self.refusal = None;
            }
            if let Some(reading) = &mut self.reading {
                let read = reading.await;
                self.messages = read.unwrap_or_else(|_| VecDeque::from([Err(InvalidMessage)]));
                self.reading = None;
            }
            match self.messages.pop_front() {
                Some(Ok(Some(message))) => return Some(message),
                Some(Ok(None)) => {}
                Some(Err(InvalidMessage)) => {
                    let error = ErrorData::invalid_request("Invalid request", None);
                    let message: TxJsonRpcMessage<D::Role> = JsonRpcMessage::error(error, None);
                    self.refusal = Some(Box::pin(write_line(Arc::clone(&self.output), self.reader.write(&message))));
                }
                None => {
                    let length = self.read_line().await?;
                    if length > MAX_INLINE_BYTES {
                        let (line, reader) = (self.bytes.split_to(length), self.reader.clone());
                        self.reading = Some(Box::pin(run_sized(length, move || read_messages(&reader, &line))));
                    } else {
                        self.messages = read_messages(&self.reader, &self.bytes[..length]);
                        self.bytes.advance(length);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

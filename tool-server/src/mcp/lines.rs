//! The transport over a pair of streams: a message is a line.

use std::{collections::VecDeque, io, sync::Arc};

use futures_util::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
};

use super::message::{MessageReader, without_mark};

/// The maximum length of a line, in bytes. A longer line is dropped, because its end may never come.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A transport over a pair of streams.
///
/// Both of its futures can be dropped and begun again, because rmcp does that whenever it has something else to do.
pub struct Lines<D, I, O> {
    reader: D,
    input: BufReader<I>,
    line: Vec<u8>,
    /// The messages of a batch that are not read yet.
    batch: VecDeque<Vec<u8>>,
    /// Set while the end of a line that is too long is awaited.
    is_discarding: bool,
    output: Arc<Mutex<Option<O>>>,
    /// The response to an invalid message, while it is sent.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
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
            input: BufReader::new(input),
            line: Vec::new(),
            batch: VecDeque::new(),
            is_discarding: false,
            output: Arc::new(Mutex::new(Some(output))),
            refusal: None,
        }
    }

    /// Reads up to the end of a line, and continues a line that an earlier call began. Returns `false` at the end of the stream.
    /// Its last line must have an end, too.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(available) = self.input.fill_buf().await else { return false };
            if available.is_empty() {
                return false;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            self.is_discarding |= self.line.len() + taken > MAX_LINE_BYTES;
            if self.is_discarding {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if end.is_some() && !std::mem::take(&mut self.is_discarding) {
                return true;
            }
        }
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
            let read = if let Some(message) = self.batch.pop_front() {
                self.reader.read(&message)
            } else {
                if !self.read_line().await {
                    return None;
                }
                let line = without_mark(self.line.trim_ascii());
                self.batch.extend(self.reader.read_batch(line));
                let read = if line.is_empty() || !self.batch.is_empty() { Ok(None) } else { self.reader.read(line) };
                self.line.clear();
                read
            };
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(_) => {
                    let error = ErrorData::invalid_request("Invalid request", None);
                    let message: TxJsonRpcMessage<D::Role> = JsonRpcMessage::error(error, None);
                    self.refusal = Some(Box::pin(write_line(Arc::clone(&self.output), self.reader.write(&message))));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

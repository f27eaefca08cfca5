//! A connection of lines. rmcp reads what arrives, but for plain calls: it takes a message for one after the other of all that
//! there are until one fits, which for a call costs more than everything else that is done about it.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use rmcp::{
    RoleServer,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, BufReader, ReadBuf};

use super::plain;

/// How long a line may be that is kept to be looked at; longer ones are rmcp's as they arrive.
const MOST: usize = 1 << 20;

/// How large the buffer of lines stays.
const KEPT: usize = 1 << 16;

type Message = RxJsonRpcMessage<RoleServer>;

/// The transport of a connection.
pub struct Connection<R: AsyncRead + Unpin, W: AsyncWrite> {
    rest: AsyncRwTransport<RoleServer, Rest<R>, W>,
    found: Found,
}

/// A plain call on its way past rmcp.
type Found = Arc<Mutex<Option<Message>>>;

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(read: R, write: W) -> Self {
        let found = Found::default();
        let rest = Rest {
            read: BufReader::new(read),
            line: Vec::new(),
            given: None,
            is_inside: false,
            found: Arc::clone(&found),
        };
        Self { rest: AsyncRwTransport::new(rest, write), found }
    }
}

impl<R, W> Transport<RoleServer> for Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.rest.send(message)
    }

    async fn receive(&mut self) -> Option<Message> {
        let Self { rest, found } = self;
        let mut rest = pin!(rest.receive());
        poll_fn(|cx| match rest.as_mut().poll(cx) {
            Poll::Pending => lock(found).take().map_or(Poll::Pending, |call| Poll::Ready(Some(call))),
            received @ Poll::Ready(_) => received,
        })
        .await
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.rest.close()
    }
}

fn lock(found: &Found) -> std::sync::MutexGuard<'_, Option<Message>> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Empties the buffer of lines, which after a long one is not kept as long.
fn forget(line: &mut Vec<u8>) {
    line.clear();
    line.shrink_to(KEPT);
}

/// The bytes that arrive, without the plain calls.
struct Rest<R> {
    read: BufReader<R>,
    /// The bytes of a line that have arrived, or are given to rmcp.
    line: Vec<u8>,
    /// How much of it was given, where it is.
    given: Option<usize>,
    /// True if the beginning of the line has gone to rmcp, so that the rest has to.
    is_inside: bool,
    found: Found,
}

impl<R: AsyncRead + Unpin> AsyncRead for Rest<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { read, line, given, is_inside, found } = &mut *self;
        loop {
            if let Some(from) = *given {
                let until = line.len().min(from + into.remaining());
                into.put_slice(&line[from..until]);
                *given = Some(until);
                if until == line.len() {
                    forget(line);
                    *given = None;
                }
                return Poll::Ready(Ok(()));
            }
            let arrived = ready!(Pin::new(&mut *read).poll_fill_buf(cx))?;
            if arrived.is_empty() {
                // A line that does not end is no message.
                forget(line);
                return Poll::Ready(Ok(()));
            }
            let end = arrived.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(arrived.len());
            line.extend_from_slice(&arrived[..taken]);
            Pin::new(&mut *read).consume(taken);
            if end.is_none() && line.len() < MOST {
                continue;
            }
            if end.is_some()
                && !*is_inside
                && let Some(call) = plain::call(line)
            {
                line.clear();
                *lock(found) = Some(call);
                return Poll::Pending;
            }
            *is_inside = end.is_none();
            *given = Some(0);
        }
    }
}

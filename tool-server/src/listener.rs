//! Connections over which small pieces go out at once.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Has `TCP_NODELAY` set for every connection.
pub(crate) struct NoDelay(pub(crate) TcpListener);

impl Listener for NoDelay {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // A connection without it is slower, not wrong.
        let _ = stream.set_nodelay(true);
        (Connection(stream), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// How many bytes are put together before they are written.
const SMALL: usize = 1024;

/// A connection that writes small slices as one: what a piece of some words costs the system to gather from three slices, a chunk
/// and its frame, is more than to copy it once.
pub(crate) struct Connection(TcpStream);

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut small = [0; SMALL];
        match joined(slices, &mut small) {
            Some(bytes) => Pin::new(&mut self.0).poll_write(cx, bytes),
            None => Pin::new(&mut self.0).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// The slices one after the other in `room`; `None` where they are larger.
fn joined<'a>(slices: &[IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for slice in slices {
        room.get_mut(length..length + slice.len())?.copy_from_slice(slice);
        length += slice.len();
    }
    room.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slices_are_joined_in_their_order() {
        let slices = [&b"5\r\n"[..], b"", b"hello", b"\r\n"].map(IoSlice::new);
        assert_eq!(joined(&slices, &mut [0; SMALL]), Some(&b"5\r\nhello\r\n"[..]));
        assert_eq!(joined(&slices, &mut [0; 10]), Some(&b"5\r\nhello\r\n"[..]));
        assert_eq!(joined(&slices, &mut [0; 9]), None);
        assert_eq!(joined(&[], &mut [0; 9]), Some(&b""[..]));
    }
}

//! The loop that accepts connections.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, serve::Listener};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpListener,
    sync::watch,
    time::{Sleep, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The time in which a client must send the headers of a request. [`serve`] also closes a connection that is idle for this
/// long.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// The time for which a client may take nothing of what the server sends.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);

/// The time in which the connections that [`serve`] closed must end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The address at which a request arrived, if it is not loopback. [`serve`] adds it to the request's extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exposed(pub(crate) SocketAddr);

impl Exposed {
    /// Creates the extension for `address`. Returns `None` for an address of loopback.
    pub(crate) fn at(address: SocketAddr) -> Option<Self> {
        (!address.ip().to_canonical().is_loopback()).then_some(Self(address))
    }
}

/// Serves `router` on `listener` until `shutdown` completes. Then the connections that are open have the time `grace` to end.
/// `serve` closes those that are left, such as one whose client does not read, and returns.
///
/// Services without authentication refuse requests to an address that is not loopback, as [`Server::serve`](crate::Server::serve)
/// refuses to listen there.
///
/// `serve` closes a connection whose client does not send the headers of a request within 30 s, or takes nothing of a response for
/// 60 s; `axum::serve` does not. `serve` also sets `TCP_NODELAY`, so that small pieces are sent at once. Otherwise each piece of a response may wait 40 ms for the
/// client's acknowledgement of the previous one.
pub async fn serve(
    mut listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    // As in `axum::serve`: the routes are made once, not for each connection.
    let router: Router = router.with_state(());
    let (stop, stopped) = watch::channel(());
    let closed = CancellationToken::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, _) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = &mut shutdown => break,
        };
        // An error is ignored: without the option the connection is only slower.
        let _ = stream.set_nodelay(true);
        let exposed = stream.local_addr().ok().and_then(Exposed::at);
        let service = router.clone().map_request(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            if let Some(exposed) = exposed {
                request.extensions_mut().insert(exposed);
            }
            request
        });
        let io = TokioIo::new(SendLimit { stream, stalled: None });
        let connection = http.serve_connection(io, TowerToHyperService::new(service)).with_upgrades();
        let (mut stopped, closed) = (stopped.clone(), closed.clone());
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // An error of a connection concerns its client alone.
            tokio::select! {
                _ = &mut connection => return,
                _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
            }
            tokio::select! {
                _ = connection => {}
                () = closed.cancelled() => {}
            }
        });
    }
    drop((listener, stopped));
    stop.send_replace(());
    if timeout(grace, stop.closed()).await.is_err() {
        closed.cancel();
        // A tool that holds its executor may hold the task of a connection, too.
        let _ = timeout(CLOSE_TIMEOUT, stop.closed()).await;
    }
    Ok(())
}

/// A connection that fails when the client takes nothing of what is sent to it for [`SEND_TIMEOUT`]. So a client that does not
/// read holds no memory for longer.
struct SendLimit<S> {
    stream: S,
    /// Runs since the last write that the client took no byte of.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> SendLimit<S> {
    /// Returns the result of a write, or an error if no write has succeeded for too long.
    fn limit<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(SEND_TIMEOUT)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SendLimit<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.limit(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.limit(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SendLimit<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, bytes)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_left_and_a_slow_one_is_not() {
        for (pause, expected) in [(50, Ok(())), (70, Err(io::ErrorKind::TimedOut))] {
            let (stream, mut client) = duplex(16);
            let mut stream = SendLimit { stream, stalled: None };
            let reader = tokio::spawn(async move {
                for _ in 0..10 {
                    sleep(Duration::from_secs(pause)).await;
                    let _ = client.read(&mut [0; 8]).await;
                }
            });
            let written = stream.write_all(&[0; 64]).await;
            assert_eq!(written.map_err(|error| error.kind()), expected, "a piece in {pause} s");
            reader.abort();
        }
    }
}

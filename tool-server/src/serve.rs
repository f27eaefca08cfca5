//! The loop that accepts connections.

use std::{io, net::SocketAddr, pin::pin, time::Duration};

use axum::{Router, body::Body, extract::Request, serve::Listener};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The time in which a client must send the headers of a request. [`serve`] also closes a connection that is idle for this
/// long.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

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
/// `serve` closes a connection whose client does not send the headers of a request within 30 s; `axum::serve` does not. `serve`
/// also sets `TCP_NODELAY`, so that small pieces are sent at once. Otherwise each piece of a response may wait 40 ms for the
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
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).with_upgrades();
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

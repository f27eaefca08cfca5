//! A network that swallows what it gets, in front of a server.

use std::{
    future::pending,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_postgres::config::Host;
use tool_runtime::store::StoreError;

/// A proxy of a TCP server. While it is silent, it accepts connections, and forwards nothing: no client learns that the server is
/// gone.
pub struct BlackHole {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The number of connections so far.
    count: AtomicU64,
    /// The number of the first connection that is forwarded.
    first: AtomicU64,
}

impl BlackHole {
    /// Starts the proxy of the PostgreSQL at `url`. Returns it with the URL that leads through it.
    ///
    /// # Panics
    ///
    /// If `url` does not name a host.
    pub async fn of_postgres(url: &str) -> (Self, String) {
        let config: tokio_postgres::Config = url.parse().unwrap();
        let Some(Host::Tcp(host)) = config.get_hosts().first() else { panic!("{url} names no host") };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let hole = Self::new(format!("{host}:{port}")).await;
        let password = config.get_password().map(|password| format!(":{}", String::from_utf8_lossy(password)));
        let (user, database) = (config.get_user().unwrap_or("postgres"), config.get_dbname().unwrap_or("postgres"));
        let url = format!("postgres://{user}{}@{}/{database}", password.unwrap_or_default(), hole.address);
        (hole, url)
    }

    /// Starts the proxy of the server at `url`, such as `http://127.0.0.1:7233`. Returns it with the URL that leads through it.
    ///
    /// # Panics
    ///
    /// If `url` does not begin with `http://`.
    pub async fn of_http(url: &str) -> (Self, String) {
        let target = url.strip_prefix("http://").expect("an address without TLS").trim_end_matches('/');
        let hole = Self::new(target.to_owned()).await;
        let url = format!("http://{}", hole.address);
        (hole, url)
    }

    /// Starts the proxy of the server at `target`.
    async fn new(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::<State>::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (state, number) = (Arc::clone(&shared), shared.count.fetch_add(1, Ordering::SeqCst));
                let target = target.clone();
                tokio::spawn(async move {
                    state.wait_if_silent(number).await;
                    let Ok(far) = TcpStream::connect(target).await else { return };
                    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                    tokio::select! {
                        () = state.forward(number, from_near, to_far) => {}
                        () = state.forward(number, from_far, to_near) => {}
                    }
                });
            }
        });
        Self { address, state }
    }

    /// Swallows everything, on connections of now and later.
    pub fn silence(&self) {
        self.state.first.store(u64::MAX, Ordering::SeqCst);
    }

    /// Forwards connections from now on, as to another server. Those of before stay silent: nobody resets them.
    pub fn fail_over(&self) {
        self.state.first.store(self.state.count.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

impl State {
    /// Waits for ever if the connection is silent.
    async fn wait_if_silent(&self, number: u64) {
        if number < self.first.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
    }

    async fn forward(&self, number: u64, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(length) = from.read(&mut piece).await
            && length > 0
        {
            self.wait_if_silent(number).await;
            if to.write_all(&piece[..length]).await.is_err() {
                return;
            }
        }
    }
}

/// The time in which each operation must end.
pub const END: Duration = Duration::from_secs(30);

/// Checks that an operation on a store behind a silent network ends as [`StoreError::Unavailable`].
pub fn check_unavailable<'a, T: 'a>(
    name: &'static str,
    operation: impl Future<Output = Result<T, StoreError>> + Send + 'a,
) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
    Box::pin(async move {
        match timeout(END, operation).await {
            Ok(Err(StoreError::Unavailable(_))) => Ok(()),
            Ok(Ok(_)) => Err(format!("{name} succeeded")),
            Ok(Err(error)) => Err(format!("{name}: {error:?}")),
            Err(_) => Err(format!("{name} has no end")),
        }
    })
}

//! A proxy of TCP connections: each goes to the next server that accepts it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    servers: Arc<Mutex<Vec<SocketAddr>>>,
    _task: JoinSet<()>,
}

impl Proxy {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, servers) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<SocketAddr>>>::default());
        let (known, next) = (Arc::clone(&servers), Arc::new(AtomicUsize::new(0)));
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let servers = known.lock().unwrap().clone();
                let first = next.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(forward(client, servers, first));
            }
        });
        Self { address, servers, _task: task }
    }

    pub(super) fn send_to(&self, servers: Vec<SocketAddr>) {
        *self.servers.lock().unwrap() = servers;
    }
}

async fn forward(mut client: TcpStream, servers: Vec<SocketAddr>, first: usize) {
    for number in 0..servers.len() {
        if let Ok(mut server) = TcpStream::connect(servers[(first + number) % servers.len()]).await {
            // If the server's connection breaks off, so does the client's.
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}

//! A server on its own runtime. Its clients are plain sockets.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::Runtime,
    time::Instant,
};
use tool_server::{AgUi, DEFAULT_GRACE, Server, serve};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};

use tool_test_kit::memory;

/// A running server.
pub(crate) struct Served {
    runtime: Option<Runtime>,
    pub(crate) address: SocketAddr,
    /// The number of its tasks without clients.
    tasks: usize,
}

impl Served {
    /// Starts a server that keeps nothing between requests, so that everything left behind is a leak.
    pub(crate) fn stateless(server: Server) -> Self {
        let keys = Keyring::new("load", Key::from_bytes([7; 32]));
        Self::start(server.stateless(&keys, "load", Arc::new(MemoryNonces::new())))
    }

    pub(crate) fn start(server: Server) -> Self {
        raise_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let router =
            server.max_responses(usize::MAX).ag_ui(AgUi::new().detach(|input| input.run_id == "detached")).router();
        let std = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        std.set_nonblocking(true).unwrap();
        let address = std.local_addr().unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(std).unwrap();
            serve(listener, router, std::future::pending(), DEFAULT_GRACE).await
        });
        let mut served = Self { runtime: Some(runtime), address, tasks: 0 };
        served.count_own_tasks(address);
        served
    }

    /// Counts the server's own tasks after its start.
    fn count_own_tasks(&mut self, address: SocketAddr) {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.contains("ok"), "{text}");
        drop(stream);
        std::thread::sleep(Duration::from_millis(200));
        self.tasks = self.tasks();
    }

    /// Returns the number of tasks for clients.
    pub(crate) fn tasks(&self) -> usize {
        self.runtime.as_ref().map_or(0, |runtime| runtime.metrics().num_alive_tasks().saturating_sub(self.tasks))
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Opens a connection whose client buffers little.
    pub(crate) async fn connect_small(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        // With smaller buffers, the kernel waits for a timer with each segment.
        socket.set_recv_buffer_size(64 * 1024).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Waits until no request has left anything behind.
    pub(crate) async fn wait_until_idle(&self) {
        wait_until("no task is left", || self.tasks() == 0).await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Raises the limit of open files to the maximum.
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Returns the number of allocated bytes.
pub(crate) fn live_bytes() -> usize {
    usize::try_from(memory::live()).unwrap_or(0)
}

/// Waits until a condition holds. Fails before the server's timers of half a minute would remove what was left behind.
pub(crate) async fn wait_until(condition: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(25);
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {condition}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns a request in the AI SDK's protocol.
pub(crate) fn chat(id: &str, text: &str, resumable: bool) -> Vec<u8> {
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    post("/api/chat", &json!({ "id": id, "messages": [message], "resumable": resumable }).to_string())
}

/// Returns a request in AG-UI's protocol.
pub(crate) fn run(thread: &str, text: &str, resumable: bool) -> Vec<u8> {
    let input = json!({
        "threadId": thread,
        "runId": if resumable { "detached" } else { "run" },
        "messages": [{ "id": "m1", "role": "user", "content": text }],
        "protocolVersion": "1.0",
    });
    post("/agent", &input.to_string())
}

/// Returns the request of a client that opens an AG-UI thread for the first time.
pub(crate) fn connect(thread: &str) -> Vec<u8> {
    let input = json!({ "threadId": thread, "runId": "connecting", "messages": [], "protocolVersion": "1.0" });
    post("/agent/connect", &input.to_string())
}

fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends a request, and waits until `part` has arrived.
pub(crate) async fn begin(stream: &mut TcpStream, request: &[u8], part: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request).await?;
    let mut got = Vec::new();
    while !contains(&got, part) {
        if stream.read_buf(&mut got).await? == 0 {
            return Err(io::Error::other(String::from_utf8_lossy(&got).into_owned()));
        }
    }
    Ok(got)
}

/// Sends a request, and reads the whole answer.
pub(crate) async fn read_whole(mut stream: TcpStream, request: Vec<u8>) -> io::Result<String> {
    stream.write_all(&request).await?;
    let mut got = Vec::new();
    stream.read_to_end(&mut got).await?;
    String::from_utf8(got).map_err(io::Error::other)
}

pub(crate) fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

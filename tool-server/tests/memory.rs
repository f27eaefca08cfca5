//! The memory that clients take up that load a long chat and do not read it. A process of its own: its allocator counts bytes.

use std::{future::pending, net::SocketAddr, time::Duration};

use futures_util::stream;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tool_runtime::{
    Agent,
    message::FinishReason,
    model::{Delta, FunctionModel},
};
use tool_server::{
    AgUi, Router, Server,
    axum::{
        body::{Body, to_bytes},
        http::{Request, header},
    },
};
use tool_test_kit::memory::{Counting, live};
use tower::ServiceExt as _;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The size of the chat's text, in bytes.
const CHAT: i64 = 8_000_000;

const READERS: i64 = 30;

/// The number of bytes that each reader may take up beside the copy that all share.
const OF_READER: i64 = 256 * 1024;

/// Opens a connection that takes little from the server while nobody reads it, and sends a request.
async fn request(address: SocketAddr, head: &str, body: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    // The response has begun.
    assert_eq!(stream.read_u8().await.unwrap(), b'H');
    stream
}

/// Starts a server with a long chat.
async fn serve() -> SocketAddr {
    let model = FunctionModel::streaming(|_| {
        let text = (0..80).map(|_| Delta::Text("word ".repeat(20_000)));
        stream::iter(text.chain([Delta::Finish(FinishReason::Stop)]).map(Ok))
    });
    let router: Router = Server::new(Agent::new(model))
        .ag_ui(AgUi::new())
        .max_replay_bytes(64 << 20)
        .max_total_replay_bytes(64 << 20)
        .router();
    let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Go on." }] });
    let body = json!({ "id": "c", "messages": [prompt] }).to_string();
    let asked = Request::post("http://localhost/api/chat").header(header::CONTENT_TYPE, "application/json");
    let response = router.clone().oneshot(asked.body(Body::from(body)).unwrap()).await.unwrap();
    to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(tool_server::serve(listener, router, pending(), Duration::ZERO));
    address
}

/// Waits until at most `most` bytes are allocated.
async fn wait_until_live(most: i64, what: &str) {
    let settled = timeout(Duration::from_secs(20), async {
        while live() > most {
            sleep(Duration::from_millis(10)).await;
        }
    });
    let is_settled = settled.await.is_ok();
    assert!(is_settled, "{what}: {} bytes are allocated, and {most} are allowed", live());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_a_long_chat_that_do_not_read_share_one_copy() {
    let address = serve().await;
    let connect = json!({ "threadId": "c", "runId": "r", "protocolVersion": "1.0", "messages": [] }).to_string();
    for (head, body) in [("GET /api/chat/c", ""), ("GET /api/v6/chat/c", ""), ("POST /agent/connect", &connect)] {
        let before = live();
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(request(address, head, body).await);
        }
        wait_until_live(before + 2 * CHAT + READERS * OF_READER, head).await;
        // Each of them still gets the whole chat.
        let mut read = Vec::new();
        readers.pop().unwrap().read_to_end(&mut read).await.unwrap();
        let read = String::from_utf8(read).unwrap();
        // Chunks may divide a word.
        let words = read.matches('w').count();
        assert!(words >= usize::try_from(CHAT / 5).unwrap(), "{head}: {words} words");
        if head.starts_with("GET") {
            let (head, body) = read.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("content-type: application/json"), "{head}");
            let messages: Value = serde_json::from_str(body).unwrap();
            assert_eq!(messages.as_array().map(Vec::len), Some(2));
        }
        drop((read, readers));
        wait_until_live(before + CHAT / 2, head).await;
    }
}

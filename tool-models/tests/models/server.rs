//! A server that replies from a script.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// A step of the server's reply to a request.
pub(crate) enum Step {
    /// Sends these bytes.
    Send(String),
    Wait(Duration),
    /// Closes the connection.
    Close,
    /// Waits until the client disconnects.
    AwaitDisconnect,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

/// A function that returns the reply to a request.
type Script = Box<dyn FnMut(&ReceivedRequest) -> Vec<Step> + Send>;

struct State {
    script: Script,
    requests: Vec<ReceivedRequest>,
    connections: usize,
    disconnects: usize,
}

/// A server on a free loopback port, which replies from its script.
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// Starts a server that sends one of `replies` to each request, in order. A request too many is a failure of the test.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let mut replies: VecDeque<_> = replies.into_iter().collect();
        let next = move |_: &ReceivedRequest| replies.pop_front().expect("the script has no reply for this request");
        Self::start_with(next).await
    }

    /// Starts a server whose replies depend on the requests.
    pub(crate) async fn start_with(script: impl FnMut(&ReceivedRequest) -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = State { script: Box::new(script), requests: Vec::new(), connections: 0, disconnects: 0 };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.lock().unwrap().connections += 1;
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, state }
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// Returns the number of disconnects that the server waited for.
    pub(crate) fn disconnects(&self) -> usize {
        self.state.lock().unwrap().disconnects
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    while let Some(request) = receive(&mut stream).await {
        let steps = {
            let mut state = state.lock().unwrap();
            let steps = (state.script)(&request);
            state.requests.push(request);
            steps
        };
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(bytes.as_bytes()).await.is_err() {
                        return;
                    }
                }
                Step::Wait(time) => sleep(time).await,
                Step::Close => return,
                Step::AwaitDisconnect => {
                    let read = stream.read(&mut [0; 1]).await;
                    assert!(matches!(read, Ok(0) | Err(_)), "the client sent more bytes");
                    state.lock().unwrap().disconnects += 1;
                    return;
                }
            }
        }
    }
}

async fn receive(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase();
            let length: usize = head.split("content-length: ").nth(1)?.lines().next()?.parse().unwrap();
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8(bytes[end + 4..end + 4 + length].to_vec()).unwrap();
                return Some(ReceivedRequest { head, body, at: Instant::now() });
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Returns a whole reply of `status`, with additional header lines, each ending in CRLF.
pub(crate) fn reply(status: &str, head: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(format!("HTTP/1.1 {status}\r\n{head}content-length: {length}\r\n\r\n{body}"))]
}

/// Returns the head of an event stream.
pub(crate) fn head() -> Step {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    Step::Send(head.to_owned())
}

/// Returns one event, as one chunk of the body.
pub(crate) fn event(data: &str) -> Step {
    let event = format!("data: {data}\n\n");
    Step::Send(format!("{:x}\r\n{event}\r\n", event.len()))
}

/// Returns the end of the body.
pub(crate) fn end() -> Step {
    Step::Send("0\r\n\r\n".to_owned())
}

//! A client of one chat, which goes on until it has the whole response: a page with `useChat`, or one of AG-UI.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

use super::world::World;
use crate::kit::{input, user};

/// The pause before the client tries again.
const PAUSE: Duration = Duration::from_millis(50);

/// The received part of a response.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// The status, or 0 if no server responded.
    pub(super) status: u16,
    pub(super) text: String,
}

impl Received {
    /// Parses the received bytes of a connection.
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let Some((head, text)) = text.split_once("\r\n\r\n") else { return Self::default() };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, text: text.to_owned() }
    }

    pub(super) fn events(&self) -> Vec<Value> {
        let data = self.text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// Returns the text of all deltas.
    pub(super) fn text(&self) -> String {
        let is_text = |event: &&Value| ["text-delta", "TEXT_MESSAGE_CONTENT"].iter().any(|kind| event["type"] == *kind);
        self.events().iter().filter(is_text).filter_map(|event| event["delta"].as_str().map(str::to_owned)).collect()
    }

    /// Returns `true` if the stream has ended.
    fn is_whole(&self) -> bool {
        self.status == 200
            && (self.text.ends_with("data: [DONE]\n\n")
                || self.events().iter().any(|event| event["type"] == "RUN_FINISHED"))
    }
}

/// The counts of a client's broken streams and lost calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// The number of streams that broke off.
    pub(super) broken: usize,
    /// The number of lost calls that a person had to decide.
    pub(super) lost: usize,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.broken += other.broken;
        self.lost += other.lost;
    }
}

pub(super) struct Client {
    proxy: SocketAddr,
    pub(super) chat: String,
    principal: &'static str,
}

impl Client {
    pub(super) fn new(proxy: SocketAddr, chat: String) -> Self {
        Self { proxy, chat, principal: "anna" }
    }

    /// Sends a request to the next server. Returns the connection, or `None` if the client could not send the request.
    async fn request(&self, method: &str, path: &str, body: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(self.proxy).await.ok()?;
        // In HTTP/1.0, a response ends with its connection.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.principal,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        Some(stream)
    }

    /// Sends a request to the next server, and reads the whole response.
    pub(super) async fn send(&self, method: &str, path: &str, body: &str) -> Received {
        match self.request(method, path, body).await {
            Some(stream) => read_rest(stream, Vec::new()).await,
            None => Received::default(),
        }
    }

    /// Reads the response in progress on the next server until `text` has arrived. Returns the task that reads the rest.
    pub(super) async fn follow(&self, text: &str) -> JoinHandle<Received> {
        let path = format!("/api/chat/{}/stream", self.chat);
        let mut stream = self.request("GET", &path, "").await.unwrap();
        let mut bytes = Vec::new();
        while !Received::parse(&bytes).text().contains(text) {
            let read = stream.read_buf(&mut bytes).await.unwrap();
            assert_ne!(read, 0, "no {text}: {:?}", Received::parse(&bytes));
        }
        tokio::spawn(read_rest(stream, bytes))
    }

    pub(super) async fn get(&self, rest: &str) -> Received {
        self.send("GET", &format!("/api/chat/{}{rest}", self.chat), "").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Received {
        self.send("POST", path, &body.to_string()).await
    }

    /// Sends a message of the AI SDK.
    pub(super) async fn say(&self, id: &str, text: &str) -> Received {
        let message = json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] });
        self.post("/api/chat", &json!({ "id": self.chat, "messages": [message], "resumable": true })).await
    }

    /// Returns the messages of the chat. An unknown chat has none. Returns `None` if no server responded.
    pub(super) async fn load(&self) -> Option<Vec<Value>> {
        let received = self.get("").await;
        match received.status {
            200 => serde_json::from_str(&received.text).ok(),
            404 => Some(Vec::new()),
            _ => None,
        }
    }

    /// Sends the script with the AI SDK's protocol, and goes on until the client has the whole response. Decides as a person who
    /// knows the effects. Returns the text of the whole response.
    pub(super) async fn play_ai_sdk(&self, script: &str, world: &World) -> (String, Counts) {
        let mut counts = Counts::default();
        let mut note =
            |received: &Received| counts.broken += usize::from(received.status != 204 && !received.is_whole());
        let mut lost = 0;
        loop {
            let Some(messages) = self.load().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let parts = |message: &Value| message["parts"].as_array().cloned().unwrap_or_default();
            let parts: Vec<Value> = messages.iter().skip(1).flat_map(parts).collect();
            let waiting: Vec<&Value> = parts.iter().filter(|part| part["state"] == "approval-requested").collect();
            let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            if messages.is_empty() {
                note(&self.say("m1", script).await);
            } else if !waiting.is_empty() {
                let mut decisions = json!({});
                for part in waiting {
                    let (n, tool) = (&part["input"]["n"], part["type"].as_str().unwrap_or_default());
                    let tool = tool.trim_start_matches("tool-");
                    let is_done = world.count(&format!("{tool} {n}")) > 0;
                    lost += usize::from(tool != "pay" || is_done);
                    decisions[part["approval"]["id"].as_str().unwrap()] = if is_done {
                        json!({ "decision": "respond", "output": n })
                    } else {
                        json!({ "decision": "approve" })
                    };
                }
                let body = json!({ "id": self.chat, "messages": messages, "decisions": decisions, "resumable": true });
                note(&self.post("/api/chat", &body).await);
            } else if text.ends_with("done") {
                counts.lost = lost;
                return (text, counts);
            } else {
                let received = self.get("/stream").await;
                if !received.is_whole() {
                    tokio::time::sleep(PAUSE).await;
                }
                note(&received);
            }
        }
    }

    /// Sends the script with AG-UI's protocol, like [`Client::play_ai_sdk`].
    pub(super) async fn play_ag_ui(&self, script: &str, world: &World) -> (String, Counts) {
        let mut counts = Counts::default();
        let message = user("m1", script);
        let mut received = self.send("POST", "/agent", &input(&self.chat, &json!([message]), &json!({}))).await;
        loop {
            counts.broken += usize::from(!received.is_whole());
            if !received.is_whole() {
                tokio::time::sleep(PAUSE).await;
            }
            // Connect like a page that is loaded again. The stream ends after the response in progress.
            let connected = self.send("POST", "/agent/connect", &input(&self.chat, &json!([]), &json!({}))).await;
            if !connected.is_whole() {
                received = connected;
                continue;
            }
            let events = connected.events();
            let of = |kind: &str| events.iter().rfind(|event| event["type"] == kind);
            let messages =
                of("MESSAGES_SNAPSHOT").and_then(|event| event["messages"].as_array().cloned()).unwrap_or_default();
            if messages.is_empty() {
                // The message has not arrived.
                received = self.send("POST", "/agent", &input(&self.chat, &json!([message]), &json!({}))).await;
                continue;
            }
            let interrupts = of("RUN_FINISHED").and_then(|event| event["outcome"]["interrupts"].as_array().cloned());
            let answers: Vec<Value> =
                interrupts.unwrap_or_default().iter().map(|open| decide(open, world, &mut counts)).collect();
            if answers.is_empty() {
                let texts = messages.iter().filter(|message| message["role"] == "assistant");
                let mut text: String = texts.filter_map(|message| message["content"].as_str()).collect();
                text.push_str(&connected.text());
                if text.ends_with("done") {
                    return (text, counts);
                }
                received = Received::default();
                continue;
            }
            received =
                self.send("POST", "/agent", &input(&self.chat, &json!(messages), &json!({ "resume": answers }))).await;
        }
    }
}

/// Reads to the end of the connection. `bytes` were received before.
async fn read_rest(mut stream: TcpStream, mut bytes: Vec<u8>) -> Received {
    // If the connection breaks off, the received bytes remain.
    let _ = stream.read_to_end(&mut bytes).await;
    Received::parse(&bytes)
}

/// Returns the answer of a person to an interrupt. The person lets a call run only if its effect has not happened.
fn decide(open: &Value, world: &World, counts: &mut Counts) -> Value {
    let tool = open["metadata"]["tool"].as_str().unwrap_or_default();
    let n = &open["metadata"]["arguments"]["n"];
    let is_done = world.count(&format!("{tool} {n}")) > 0;
    counts.lost += usize::from(tool != "pay" || is_done);
    json!({ "interruptId": open["id"], "status": "resolved", "payload": { "approved": !is_done } })
}

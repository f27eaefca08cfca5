//! The servers in separate processes, and their clients.

use std::{
    io::{self, BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
    task::JoinSet,
};

/// A server in a separate process, which ends when this value is dropped.
pub(super) struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts the server, and waits until it prints its address. Fails if it prints something else.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        let address = line.trim().strip_prefix("listening on ").map(str::to_owned);
        match (read, address) {
            (Some(Ok(_)), Some(address)) => Ok(Self { child, address }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::other("the server did not start"))
            }
        }
    }

    /// Returns the server's counters.
    pub(super) async fn read_counters(&self) -> io::Result<Value> {
        let mut stream = self.connect().await?;
        stream.write_all(b"GET /cpu HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        let json = text.find('{').zip(text.rfind('}')).map(|(from, to)| &text[from..=to]);
        Ok(serde_json::from_str(json.unwrap_or_default())?)
    }

    /// Returns the seconds of CPU that the server has taken so far.
    pub(super) async fn cpu_time(&self) -> io::Result<f64> {
        self.read_counters().await?["seconds"]
            .as_f64()
            .ok_or_else(|| io::Error::other("the server does not report its CPU"))
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Requests the answers of `load`. Returns this server's seconds of CPU for a piece.
    pub(super) fn time_pieces(&self, runtime: &Runtime, path: &'static str, load: Load) -> io::Result<f64> {
        runtime.block_on(async {
            let before = self.cpu_time().await?;
            let mut clients = JoinSet::new();
            for client in 0..load.clients {
                let stream = self.connect().await?;
                clients.spawn(receive_answers(stream, path, client, load));
            }
            while let Some(done) = clients.join_next().await {
                done.map_err(io::Error::other)??;
            }
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            let pieces = (load.clients * load.answers * load.pieces) as f64;
            Ok((self.cpu_time().await? - before) / pieces)
        })
    }

    /// Opens `count` streams that never end, and waits until each has begun.
    pub(super) async fn open(&self, path: &str, count: usize) -> io::Result<Vec<TcpStream>> {
        let mut open = Vec::with_capacity(count);
        for client in 0..count {
            let mut stream = self.connect().await?;
            stream.write_all(&request(path, &format!("idle-{path}-{client}"), "0")).await?;
            let mut begun = Vec::new();
            while count_parts(&begun, b"data: ") == 0 {
                if stream.read_buf(&mut begun).await? == 0 {
                    return Err(io::Error::other("a stream ended at once"));
                }
            }
            open.push(stream);
        }
        Ok(open)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The load of a measurement: parallel clients, each of which requests several answers in sequence.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) clients: usize,
    pub(super) answers: usize,
    pub(super) pieces: usize,
    pub(super) pace: Pace,
}

/// The time at which a server makes a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Together with the previous one.
    AtOnce,
    /// After the previous one was sent.
    Alone,
    /// This number of milliseconds after the previous one, by a timer of its stream.
    Timed(u64),
}

impl Pace {
    /// Returns the text of a message that requests this pace.
    fn text(self) -> String {
        match self {
            Self::AtOnce => "at-once".to_owned(),
            Self::Alone => "alone".to_owned(),
            Self::Timed(millis) => millis.to_string(),
        }
    }

    /// Returns a description for the report.
    pub(super) fn describe(self) -> String {
        match self {
            Self::AtOnce => "all at once".to_owned(),
            Self::Alone => "each sent alone".to_owned(),
            Self::Timed(millis) => format!("{millis} ms apart"),
        }
    }

    /// Returns the pace that the text of a message requests.
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "alone" => Self::Alone,
            text => text.parse().map_or(Self::AtOnce, Self::Timed),
        }
    }
}

/// The interval at which a client reads separately sent pieces. If each piece woke a client on the same machine, the
/// server's write would include the wake-up.
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// Requests answers over one connection, one after the other, and checks that each is complete.
async fn receive_answers(mut stream: TcpStream, path: &str, client: usize, load: Load) -> io::Result<()> {
    let wanted = format!("{} {}", load.pieces, load.pace.text());
    let mut answer = Vec::new();
    for number in 0..load.answers {
        stream.write_all(&request(path, &new_id(client, number), &wanted)).await?;
        answer.clear();
        while !is_whole(&answer) {
            if load.pace != Pace::AtOnce {
                stream = poll_until_whole(stream, &mut answer).await?;
            } else if stream.read_buf(&mut answer).await? == 0 {
                return Err(io::Error::other(String::from_utf8_lossy(&answer).into_owned()));
            }
        }
        let sent = count_parts(&answer, b"-delta\"");
        if sent != load.pieces || count_parts(&answer, b"data: [DONE]") != 1 {
            return Err(io::Error::other(format!("{path} sent {sent} pieces of {}", load.pieces)));
        }
        // Each piece has its own HTTP chunk.
        let chunks = count_parts(&answer, b"\n\n\r\n");
        if load.pace != Pace::AtOnce && chunks < load.pieces {
            return Err(io::Error::other(format!("{path} sent {sent} pieces in {chunks} chunks")));
        }
    }
    Ok(())
}

/// Reads until the answer is complete, at intervals, so that arriving data wakes no client.
async fn poll_until_whole(stream: TcpStream, answer: &mut Vec<u8>) -> io::Result<TcpStream> {
    // Without tokio's stream, arriving data wakes no task.
    let mut stream = stream.into_std()?;
    while !is_whole(answer) {
        tokio::time::sleep(READ_INTERVAL).await;
        match stream.read_to_end(answer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) => return Err(io::Error::other(String::from_utf8_lossy(answer).into_owned())),
            Err(error) => return Err(error),
        }
    }
    TcpStream::from_std(stream)
}

/// Returns whether an answer has ended.
fn is_whole(answer: &[u8]) -> bool {
    answer.ends_with(b"\r\n0\r\n\r\n")
}

fn request(path: &str, chat: &str, text: &str) -> Vec<u8> {
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    let body = json!({ "id": chat, "messages": [message], "trigger": "submit-message" }).to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}

/// Returns a new chat id.
fn new_id(client: usize, number: usize) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("chat-{client}-{number}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns how often `part` occurs in `text`.
fn count_parts(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len()).filter(|window| *window == part).count()
}

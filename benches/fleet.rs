//! The cost of a run on three servers with one PostgreSQL, against one server: the CPU of the servers, and of the
//! database's processes for their connections.
//!
//! Each run has three requests: a message, the load of a page, and an approval. With three servers, each of these requests
//! reaches a different server.

use std::{
    io::{self, BufRead, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    task::JoinSet,
};
use tool_runtime::{Agent, Message, model::FunctionModel, model::Turn, tool, toolset};
use tool_server::Server;
use tool_stores::PostgresOptions;
use tool_test_kit::stores::Schema;

use crate::{clock, report::Report};

const NAME: &str = "fleet/cpu";

/// The number of runs in a measurement.
const RUNS: usize = 400;

/// The number of parallel clients.
const CLIENTS: usize = 16;

/// The number of pairs of measurements.
const PAIRS: usize = 5;

/// Measures three servers against one, and reports the target. Needs the PostgreSQL server at `DATABASE_URL`.
pub(crate) fn measure(report: &mut Report) {
    if std::env::var_os("DATABASE_URL").is_none() {
        return report.fail(NAME, "no DATABASE_URL; `scripts/postgres cargo run …` sets it");
    }
    match Builder::new_multi_thread().worker_threads(1).enable_all().build().and_then(|runtime| time_pairs(&runtime)) {
        Ok(pairs) => {
            let [ratio, three, one] = clock::medians(&pairs);
            let how = format!(
                "x the CPU for a run: {:.2} ms with three servers, {:.2} ms with one; servers and database; {RUNS} runs by {CLIENTS} \
                 clients, medians of {PAIRS}",
                three * 1e3,
                one * 1e3
            );
            report.at_most(NAME, ratio, 1.2, &how);
        }
        Err(error) => report.fail(NAME, &error.to_string()),
    }
}

/// Measures the seconds of CPU for a run with three servers and with one, in turns.
fn time_pairs(runtime: &Runtime) -> io::Result<Vec<[f64; 2]>> {
    let schema = Schema::new();
    // Creates the tables before servers compete for them.
    drop(runtime.block_on(schema.open()));
    let servers = (0..3).map(|_| Process::start(&schema)).collect::<io::Result<Vec<_>>>()?;
    let mut pairs = Vec::new();
    for number in 0..=PAIRS {
        let mut pair = [0.0; 2];
        for side in [number % 2, 1 - number % 2] {
            pair[side] = runtime.block_on(time_runs(if side == 0 { &servers } else { &servers[..1] }, &schema))?;
        }
        pairs.push(pair);
    }
    drop(servers);
    runtime.block_on(schema.remove());
    // The first pair is left out, because it opens connections and fills caches.
    Ok(pairs.split_off(1))
}

/// Plays runs on `servers`, and returns the seconds of CPU for each.
async fn time_runs(servers: &[Process], schema: &Schema) -> io::Result<f64> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let addresses: Arc<[String]> = servers.iter().map(|server| server.address.clone()).collect();
    let before = cpu_time(servers, schema).await?;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let addresses = Arc::clone(&addresses);
        clients.spawn(async move {
            for _ in 0..RUNS / CLIENTS {
                play(&addresses, NEXT.fetch_add(1, Ordering::Relaxed)).await?;
            }
            Ok::<_, io::Error>(())
        });
    }
    while let Some(played) = clients.join_next().await {
        played.map_err(io::Error::other)??;
    }
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let runs = RUNS as f64;
    Ok((cpu_time(servers, schema).await? - before) / runs)
}

/// Returns the seconds of CPU that servers, and the database's processes for them, have taken so far.
async fn cpu_time(servers: &[Process], schema: &Schema) -> io::Result<f64> {
    let mut all = 0.0;
    for server in servers {
        let time: Value = serde_json::from_str(&ask(&server.address, "GET", "/cpu", "").await?)?;
        all += time.as_f64().ok_or_else(|| io::Error::other("a server does not report its CPU"))?;
    }
    for process in schema.processes().await {
        all += clock::time_of_process(process)?;
    }
    Ok(all)
}

/// Plays the requests of one chat. Each request goes to the next server.
async fn play(servers: &[String], number: usize) -> io::Result<()> {
    let next = |request: usize| &servers[(number + request) % servers.len()];
    let chat = format!("chat-{number}");
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Pay." }] });
    let body = json!({ "id": chat, "messages": [message] }).to_string();
    ask(next(0), "POST", "/api/chat", &body).await?;
    let messages: Value = serde_json::from_str(&ask(next(1), "GET", &format!("/api/chat/{chat}"), "").await?)?;
    let parts = messages[1]["parts"].as_array().cloned().unwrap_or_default();
    let asked = parts.iter().find_map(|part| part["approval"]["id"].as_str());
    let asked = asked.ok_or_else(|| io::Error::other(format!("no approval: {messages}")))?;
    let decisions = json!({ asked: { "decision": "approve" } });
    let body = json!({ "id": chat, "messages": messages, "decisions": decisions }).to_string();
    let answer = ask(next(2), "POST", "/api/chat", &body).await?;
    if answer.contains("paid 5") && answer.contains("It is done.") { Ok(()) } else { Err(io::Error::other(answer)) }
}

/// Sends a request to an HTTP server, and returns the body of the response.
pub(crate) async fn ask(server: &str, method: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => Ok(body.to_owned()),
        _ => Err(io::Error::other(text)),
    }
}

/// A server in a separate process, which ends when this value is dropped.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(schema: &Schema) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--fleet", &schema.name, &schema.named_url()]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        Ok(Self { child, address: line.trim().to_owned() })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(
    /// The amount.
    amount: u32,
) -> String {
    format!("paid {amount}")
}

/// Looks something up.
#[tool(effect = read_only)]
fn look(
    /// The subject.
    what: String,
) -> usize {
    what.len()
}

/// Serves runs in the store at `url` until the process is killed: `tool-benches --fleet SCHEMA URL`.
pub(crate) fn serve(schema: &str, url: &str) -> ExitCode {
    let model = FunctionModel::new(|request| {
        match request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count() {
            0 => Turn::say("I look it up.").then_call("look", json!({ "what": "the price" })),
            1 => Turn::say("It costs 5.").then_call("pay", json!({ "amount": 5 })),
            _ => Turn::say("It is done."),
        }
    });
    let serving = async {
        let store = PostgresOptions::new().schema(schema).connect(url).await.map_err(io::Error::other)?;
        let agent = Agent::new(model).tools(toolset!(pay, look)).store(store);
        let cpu = Router::new().route("/cpu", get(async || Json(clock::process_time().as_secs_f64())));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        Server::new(agent).max_responses(usize::MAX).merge(cpu).serve(listener, std::future::pending()).await
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(serving)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

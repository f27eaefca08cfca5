//! Tests of a server that is killed and replaced by one with its keys.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use serde_json::json;
use tool_runtime::{Agent, Provide, model::FunctionModel, tool, toolset};
use tool_server::{AgUi, BearerToken, Server};
use tool_stores::{
    PostgresOptions, SqliteStore,
    sealed::{MemoryNonces, NonceStore},
};

use super::{Client, approve, call, ring};
use tool_test_kit::stores::{File, Schema};

use crate::{kit::Response, model::play};

/// The environment variable with the file to which a payment adds a line.
const PAID: &str = "TOOL_TEST_PAID";

/// The environment variable with the place of the nonces: `memory`, a file of SQLite, or `URL#SCHEMA` of PostgreSQL.
const NONCES: &str = "TOOL_TEST_NONCES";

#[derive(Provide)]
struct State {
    paid: PathBuf,
}

/// Pay.
#[tool(effect = destructive, approval = always)]
fn pay(#[state] paid: &PathBuf) -> Result<String, std::io::Error> {
    fs::OpenOptions::new().create(true).append(true).open(paid)?.write_all(b"paid\n")?;
    Ok("paid".to_owned())
}

#[tokio::test]
#[ignore = "started by the tests here"]
async fn process() {
    let nonces: Arc<dyn NonceStore> = match env::var(NONCES).unwrap() {
        memory if memory == "memory" => Arc::new(MemoryNonces::new()),
        place => match place.split_once('#') {
            Some((url, schema)) => Arc::new(PostgresOptions::new().schema(schema).connect(url).await.unwrap()),
            None => Arc::new(SqliteStore::open(place).unwrap()),
        },
    };
    let state = State { paid: env::var_os(PAID).unwrap().into() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("\nport {}", listener.local_addr().unwrap().port());
    let server = Server::new(Agent::new(FunctionModel::streaming(play)).tools(toolset!(state; pay)))
        .authenticate(BearerToken::new(|token| Some(token.into())))
        .stateless(&ring(), "desk", nonces)
        .ag_ui(AgUi::new());
    server.serve(listener, std::future::pending()).await.unwrap();
}

/// A server in a process of its own.
struct ServerProcess {
    child: Child,
    port: u16,
}

impl ServerProcess {
    fn start(nonces: &str, paid: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["ag_ui::sealed::restart::process", "--exact", "--ignored", "--nocapture"])
            .env(NONCES, nonces)
            .env(PAID, paid)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| line.unwrap().strip_prefix("port ")?.parse().ok()).expect("a port");
        Self { child, port }
    }

    fn post(&self, body: &str) -> Response {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = "POST /agent HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer anna\r\ncontent-type: application/json\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").unwrap();
        Response { status: head.split(' ').nth(1).unwrap().parse().unwrap(), text: text.to_owned() }
    }

    /// Requests a payment, and returns the body that approves it.
    fn request_payment(&self, thread: &str) -> String {
        let mut client = Client::new(thread);
        let script = serde_json::to_string(&[call("pay", "{}")]).unwrap();
        client.messages.push(crate::kit::user("m1", &script));
        let asked = self.post(&client.body(&json!({})));
        let sealed = asked.event("REASONING_ENCRYPTED_VALUE")["encryptedValue"].clone();
        client.messages[0]["encryptedValue"] = sealed;
        client.body(&approve(&asked))
    }
}

impl Drop for ServerProcess {
    /// Kills the process with SIGKILL.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn count_payments(paid: &Path) -> usize {
    fs::read_to_string(paid).unwrap_or_default().lines().count()
}

/// Checks that a payment before the restart is not made again. If `lasts`, the nonces outlive the restart, and a waiting payment
/// can be approved after it.
fn check_restart(nonces: &str, lasts: bool) {
    let file = File::new();
    let paid = file.path().with_extension("paid");
    let first = ServerProcess::start(nonces, &paid);
    let (spent, waits) = (first.request_payment("spent"), first.request_payment("waits"));
    let done = first.post(&spent);
    assert_eq!((done.status, count_payments(&paid)), (200, 1), "{}", done.text);
    drop(first);
    let second = ServerProcess::start(nonces, &paid);
    for _ in 0..2 {
        let again = second.post(&spent);
        assert_eq!((again.status, count_payments(&paid)), (409, 1), "{}", again.text);
        let why = if lasts { "used before" } else { "before this server began" };
        assert!(again.text.contains(why), "{}", again.text);
    }
    let late = second.post(&waits);
    let wanted = if lasts { (200, 2) } else { (409, 1) };
    assert_eq!((late.status, count_payments(&paid)), wanted, "{}", late.text);
    let new = second.post(&second.request_payment("new"));
    assert_eq!((new.status, count_payments(&paid)), (200, wanted.1 + 1), "a newly sealed run can be used");
}

#[test]
fn with_nonces_in_memory_older_seals_are_refused() {
    check_restart("memory", false);
}

#[test]
fn with_nonces_in_sqlite_spent_runs_stay_spent() {
    let file = File::new();
    check_restart(file.path().to_str().unwrap(), true);
}

#[tokio::test]
async fn with_nonces_in_postgresql_spent_runs_stay_spent() {
    let schema = Schema::new();
    let place = format!("{}#{}", schema.url, schema.name);
    tokio::task::spawn_blocking(move || check_restart(&place, true)).await.unwrap();
    schema.remove().await;
}

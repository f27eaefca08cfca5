//! A server that is killed, and another with its keys in its place.

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

use super::{Client, call, ring, yes};
use tool_test_kit::stores::{File, Schema};

use crate::{kit::Answer, model::play};

/// The file to which a payment adds a line.
const PAID: &str = "TOOL_TEST_PAID";

/// The variable with the place of the nonces: `memory`, or the address of a store.
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

/// A process that serves, until it is killed.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
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

    fn post(&self, body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = "POST /agent HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer anna\r\ncontent-type: application/json\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").unwrap();
        Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), text: text.to_owned() }
    }

    /// A client that is asked whether it may be paid, and what it answers.
    fn asked(&self, thread: &str) -> String {
        let mut client = Client::new(thread);
        let script = serde_json::to_string(&[call("pay", "{}")]).unwrap();
        client.messages.push(crate::kit::user("m1", &script));
        let asked = self.post(&client.body(&json!({})));
        let sealed = asked.event("REASONING_ENCRYPTED_VALUE")["encryptedValue"].clone();
        client.messages[0]["encryptedValue"] = sealed;
        client.body(&yes(&asked))
    }
}

impl Drop for Served {
    /// With SIGKILL.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn count(paid: &Path) -> usize {
    fs::read_to_string(paid).unwrap_or_default().lines().count()
}

/// Checks that a payment before the restart is not made again, and that one that waits can be approved after it where the
/// nonces last.
fn pays_once(nonces: &str, remembers: bool) {
    let file = File::new();
    let paid = file.path().with_extension("paid");
    let first = Served::start(nonces, &paid);
    let (spent, waits) = (first.asked("spent"), first.asked("waits"));
    let done = first.post(&spent);
    assert_eq!((done.status, count(&paid)), (200, 1), "{}", done.text);
    drop(first);
    let second = Served::start(nonces, &paid);
    for _ in 0..2 {
        let again = second.post(&spent);
        assert_eq!((again.status, count(&paid)), (409, 1), "{}", again.text);
        let why = if remembers { "used before" } else { "before this server began" };
        assert!(again.text.contains(why), "{}", again.text);
    }
    let late = second.post(&waits);
    let wanted = if remembers { (200, 2) } else { (409, 1) };
    assert_eq!((late.status, count(&paid)), wanted, "{}", late.text);
    let new = second.post(&second.asked("new"));
    assert_eq!((new.status, count(&paid)), (200, wanted.1 + 1), "what is sealed from now on is as good as ever");
}

#[test]
fn with_nonces_in_memory_nothing_is_opened_that_was_sealed_before() {
    pays_once("memory", false);
}

#[test]
fn with_nonces_in_sqlite_what_was_spent_stays_spent() {
    let file = File::new();
    pays_once(file.path().to_str().unwrap(), true);
}

#[tokio::test]
async fn with_nonces_in_postgresql_what_was_spent_stays_spent() {
    let schema = Schema::new();
    let place = format!("{}#{}", schema.url, schema.name);
    tokio::task::spawn_blocking(move || pays_once(&place, true)).await.unwrap();
    schema.remove().await;
}

//! The log of a server's operator. These tests need a process of their own: the log is that of the process.

use std::{
    io,
    ops::Range,
    process::Command,
    sync::{Arc, Mutex},
};

use futures_util::{StreamExt, future::BoxFuture, stream};
use serde_json::json;
use tool_runtime::{
    Agent, Failure,
    model::{FunctionModel, ModelError, ModelErrorKind, ScriptedModel, Turn},
    run::{Principal, RunId, Timestamp},
    store::{Append, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
    tool, toolset,
};
use tool_server::{
    Router, Server,
    axum::{
        body::{Body, to_bytes},
        http::{Request, header},
    },
};
use tower::ServiceExt as _;
use tracing::{Level, subscriber::DefaultGuard};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn begin(level: Level) -> (Self, DefaultGuard) {
        let written = Self::default();
        let writer = written.clone();
        let plain = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).without_time();
        (written, tracing::subscriber::set_default(plain.with_writer(move || writer.clone()).finish()))
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.trim_start().to_owned()).collect()
    }
}

/// Sends a message, and returns the status and the body of the response.
async fn ask(router: Router) -> (u16, String) {
    let parts = json!([{ "type": "text", "text": "the prompt" }]);
    let chat = json!({ "id": "c", "messages": [{ "id": "m", "role": "user", "parts": parts }] });
    let request = Request::post("http://localhost/api/chat").header(header::CONTENT_TYPE, "application/json");
    let response = router.oneshot(request.body(Body::from(chat.to_string())).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_page_learns_that_the_model_failed_and_the_operator_learns_why() {
    let model = FunctionModel::streaming(|_| {
        let error =
            ModelError::new(ModelErrorKind::Unauthorized, "the provider responded with 401 (check the API key)");
        stream::iter([Err(error)]).boxed()
    });
    let (written, guard) = Written::begin(Level::INFO);
    let (status, body) = ask(Server::new(Agent::new(model)).router()).await;
    drop(guard);
    assert_eq!(status, 200);
    assert!(body.contains("The answer failed") && !body.contains("401") && !body.contains("API key"), "{body}");
    let expected = "ERROR tool_runtime: the model failed, and the run stopped: the provider responded with 401 (check the API \
                    key) run=\"1:9:anonymous:c\" model=\"function\"";
    assert_eq!(written.lines(), [expected]);
}

#[tokio::test]
async fn an_error_of_the_store_has_a_status_and_a_code() {
    let cases: [(MakeError, u16, &str); 6] = [
        (away, 503, "unavailable"),
        (|| StoreError::Full { of_owner: true }, 507, "chats_full"),
        (|| StoreError::Full { of_owner: false }, 507, "store_full"),
        (|| StoreError::Ended("its workflow `tool-run/secret` was terminated".to_owned()), 410, "ended"),
        (|| StoreError::TooLarge { bytes: 9, limit: 8 }, 413, "too_large"),
        (|| StoreError::Conflict, 409, "conflict"),
    ];
    for (error, status, code) in cases {
        let agent = Agent::new(ScriptedModel::new([Turn::say("hello")])).store(Failing(error));
        let (got, body) = ask(Server::new(agent).router()).await;
        assert_eq!(got, status, "{body}");
        assert!(body.starts_with(&format!(r#"{{"error":{{"code":"{code}","#)) && !body.contains("secret"), "{body}");
    }
}

/// A function that makes the error of a store.
type MakeError = fn() -> StoreError;

/// A store that fails.
struct Failing(MakeError);

impl Failing {
    fn fail<'a, T: Send + 'a>(&self) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(std::future::ready(Err((self.0)())))
    }
}

fn away() -> StoreError {
    StoreError::unavailable(io::Error::other("connection refused by db:5432"))
}

impl Store for Failing {
    fn append<'a>(&'a self, _: &'a RunId, _: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        self.fail()
    }

    fn load<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        self.fail()
    }

    fn read<'a>(&'a self, _: &'a RunId, _: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.fail()
    }

    fn save_snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
        self.fail()
    }

    fn lease<'a>(
        &'a self,
        _: &'a RunId,
        _: &'a str,
        _: Timestamp,
        _: std::time::Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.fail()
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        self.fail()
    }

    fn waiting<'a>(&'a self, _: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        self.fail()
    }

    fn due(&self, _: Timestamp, _: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        self.fail()
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        self.fail()
    }

    fn delete<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.fail()
    }
}

#[tokio::test]
async fn a_request_that_the_server_cannot_answer_is_one_line_with_its_cause() {
    let server = || Server::new(Agent::new(ScriptedModel::new([Turn::say("hello")])).store(Failing(away)));
    let (written, guard) = Written::begin(Level::INFO);
    let (status, body) = ask(server().router()).await;
    drop(guard);
    assert_eq!(status, 503);
    assert!(!body.contains("5432"), "{body}");
    let [line] = &written.lines()[..] else { panic!("{:?}", written.lines()) };
    let expected =
        "WARN tool_server: POST /api/chat failed: the store is unavailable: connection refused by db:5432 status=503";
    assert!(line == expected, "{line}");

    // A refused request is the client's mistake: a line for those who look for it.
    let (written, guard) = Written::begin(Level::DEBUG);
    let request = Request::post("http://foreign.example/api/chat").body(Body::empty()).unwrap();
    assert_eq!(server().router().oneshot(request).await.unwrap().status(), 403);
    drop(guard);
    assert_eq!(written.lines(), ["DEBUG tool_server: POST /api/chat was refused status=403"]);
}

/// Looks something up.
#[tool(effect = read_only)]
async fn look() -> Result<String, Failure> {
    Err(Failure::new("the index is away").source("disk 7"))
}

/// The lines are those of the process that runs the tool, and those of the process that asked it.
#[cfg(feature = "mcp")]
#[tokio::test]
async fn a_failure_of_a_remote_tool_is_a_line_on_both_sides() {
    use tokio::io::{duplex, split};
    use tool_server::mcp::{McpServer, RemoteServer};

    let (written, guard) = Written::begin(Level::WARN);
    let server = McpServer::new(toolset!(look));
    let open = move || {
        let (near, far) = duplex(1 << 20);
        let server = server.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            let _ = server.serve_streams(read, write).await;
        });
        async move { io::Result::Ok(split(near)) }
    };
    let tools = RemoteServer::streams("far", open).allow(["look"]).trust_hints().connect().await.unwrap().toolset();
    let model = ScriptedModel::new([Turn::call("far_look", json!({})), Turn::say("sorry")]);
    let mut session = Agent::new(model).tools(tools).session();
    session.send("look").await.unwrap();
    drop(guard);
    let lines = written.lines();
    let ours = format!(
        "WARN tool_runtime: the tool failed: the index is away run=\"{}\" call=\"call_1_0\" tool=\"far_look\"",
        session.id()
    );
    let theirs: Vec<&String> = lines.iter().filter(|line| **line != ours).collect();
    assert_eq!(lines.len() - theirs.len(), 1, "{lines:?}");
    let [line] = theirs[..] else { panic!("{lines:?}") };
    assert!(line.starts_with("WARN tool_runtime: the tool failed: the index is away: \"disk 7\" run="), "{line}");
}

/// Serves without a subscriber, in a process of its own: see the test below.
#[test]
#[ignore = "a part of the next test"]
fn serves_without_a_subscriber() {
    for _ in 0..2 {
        drop(Server::new(Agent::new(ScriptedModel::new([Turn::say("hello")]))).router());
    }
}

#[test]
fn a_server_says_once_that_nobody_listens_to_the_log() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let ran = program.args(["--exact", "serves_without_a_subscriber", "--ignored", "--nocapture"]).output().unwrap();
    assert!(ran.status.success());
    let printed = String::from_utf8(ran.stderr).unwrap();
    let hints: Vec<&str> = printed.lines().filter(|line| line.contains("tool-server: ")).collect();
    assert_eq!(
        hints,
        ["tool-server: nobody listens to the log, so it cannot say why a model or a tool fails: begin `main` with \
          `tracing_subscriber::fmt::init();`, of the crate `tracing-subscriber`"]
    );
}

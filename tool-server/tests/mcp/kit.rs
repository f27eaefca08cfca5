//! Both ends of a connection, in one process.

#![expect(deprecated, reason = "logs are; sessions of revisions up to 2025-11-25 have them")]

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, ClientCapabilities,
        ClientConfig, ContentBlock, ElicitRequestParams, ElicitResult, Implementation, JsonObject, ListToolsResult,
        LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService},
};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tool_server::mcp::{McpServer, RemoteServer, RemoteTools};

/// The number of a progress, and its total.
type Progress = (f64, Option<f64>);

/// A client that answers questions with `answer`, and records all that it receives.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) answer: Option<fn(&str) -> ElicitResult>,
    pub(crate) received: Arc<Mutex<Vec<String>>>,
    /// The numbers of all progress, with their totals.
    pub(crate) progress: Arc<Mutex<Vec<Progress>>>,
}

impl Person {
    pub(crate) fn new(answer: Option<fn(&str) -> ElicitResult>) -> Self {
        Self { answer, received: Arc::default(), progress: Arc::default() }
    }

    pub(crate) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    fn record(&self, text: String) {
        self.received.lock().unwrap().push(text);
    }
}

impl rmcp::ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.answer {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("person", "1"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = params else { panic!("a form") };
        self.record(message.clone());
        Ok(self.answer.expect("only a client with elicitation is asked")(&message))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push((params.progress, params.total));
        self.record(format!("{} {}", params.progress, params.message.unwrap_or_default()));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.record(format!("{:?} {}", params.level, params.data));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record("list changed".to_owned());
    }
}

pub(crate) type Client = RunningService<RoleClient, Person>;

/// Connects a client to `server`. If `modern`, the client speaks the revision without sessions, otherwise one with sessions.
pub(crate) async fn client(server: &McpServer, person: Person, modern: bool) -> Client {
    let (near, far) = duplex(1 << 20);
    let server = server.clone();
    tokio::spawn(async move {
        let (read, write) = split(far);
        let _ = server.serve_streams(read, write).await;
    });
    let lifecycle = if modern {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
    } else {
        ClientLifecycleMode::Initialize
    };
    person.serve_with_lifecycle(near, lifecycle).await.expect("a client")
}

pub(crate) fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments))
}

pub(crate) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// Returns the text of a result that a model would read.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A function from a tool's name and arguments to the call's result.
type Respond = dyn Fn(&str, &JsonObject) -> Option<CallToolResult> + Send + Sync;

/// A server of a third party, which may be hostile.
#[derive(Clone)]
pub(crate) struct Stranger {
    pub(crate) tools: Arc<Mutex<Vec<Tool>>>,
    /// Returns the result of a call. A call without a result stays open.
    pub(crate) respond: Arc<Respond>,
    /// Set if the list has no end.
    pub(crate) endless: bool,
    /// The number of cancelled calls.
    pub(crate) cancelled: Arc<Mutex<usize>>,
}

impl Stranger {
    pub(crate) fn new(tools: Vec<Tool>) -> Self {
        let respond = Arc::new(|name: &str, _: &JsonObject| {
            Some(CallToolResult::success(vec![ContentBlock::text(format!("{name} ran"))]))
        });
        Self { tools: Arc::new(Mutex::new(tools)), respond, endless: false, cancelled: Arc::default() }
    }

    pub(crate) fn respond_with(
        mut self,
        respond: impl Fn(&str, &JsonObject) -> Option<CallToolResult> + Send + Sync + 'static,
    ) -> Self {
        self.respond = Arc::new(respond);
        self
    }

    /// Returns the server as one to which a client can connect.
    pub(crate) fn remote(&self) -> RemoteServer {
        let this = self.clone();
        let open = move || {
            let this = this.clone();
            async move { io::Result::Ok(this.open()) }
        };
        RemoteServer::streams("far", open).limits(|limits| {
            limits.connect = Duration::from_secs(5);
            limits.call = Duration::from_secs(10);
        })
    }

    fn open(self) -> (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let (near, far) = duplex(1 << 20);
        tokio::spawn(async move {
            if let Ok(running) = self.serve(far).await {
                let _ = running.waiting().await;
            }
        });
        split(near)
    }

    pub(crate) async fn connect(&self) -> RemoteTools {
        self.remote().connect().await.expect("a connection")
    }
}

impl ServerHandler for Stranger {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(self.tools.lock().unwrap().clone());
        list.next_cursor = self.endless.then(|| "more".to_owned());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match (self.respond)(&request.name, &request.arguments.unwrap_or_default()) {
            Some(result) => Ok(result.into()),
            None => {
                context.ct.cancelled().await;
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    async fn on_cancelled(&self, _: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        *self.cancelled.lock().unwrap() += 1;
    }
}

/// Returns a stranger's tool that accepts any arguments.
pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name.to_owned(), format!("Does {name}."), object(json!({ "type": "object" })))
}

/// Returns a stranger's tool with a schema.
pub(crate) fn tool_with_schema(name: &str, schema: Value) -> Tool {
    Tool::new(name.to_owned(), format!("Does {name}."), object(schema))
}

/// Waits until `holds` returns `true`.
pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 20 s: {what}");
}

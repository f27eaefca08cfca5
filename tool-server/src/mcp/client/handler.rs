//! The handler of a server's notifications and requests.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitResult, ElicitationCreateRequestMethod,
        ErrorCode, Implementation, ListRootsRequestMethod, ListRootsResult, LoggingLevel,
        LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tokio::sync::Notify;
use tool_runtime::feedback::{escape, one_line};

use super::{
    RemoteLimits, RemoteServer,
    questions::{RemoteQuestion, RunningCalls},
    reading::QUESTION,
};
use crate::mcp::LogLevel;

/// The client's end of a connection.
#[derive(Clone)]
pub struct ClientEnd(pub Arc<Inbox>);

/// The state that a server's notifications change, and the running calls.
pub struct Inbox {
    /// The server's name, for questions to a person.
    server: String,
    questions: bool,
    pub limits: RemoteLimits,
    pub logs: Option<LogReceiver>,
    pub running: RunningCalls,
    is_stale: AtomicBool,
    changed: Notify,
}

impl Inbox {
    pub fn new(server: &RemoteServer) -> Self {
        Self {
            server: server.name.clone(),
            questions: server.questions,
            limits: server.limits.clone(),
            logs: server.logs.clone(),
            running: RunningCalls::default(),
            is_stale: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    pub fn allows_questions(&self) -> bool {
        self.questions
    }

    /// Marks the list of tools as changed.
    pub fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Returns whether the list of tools must be read again, and resets the mark.
    pub fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::SeqCst)
    }

    /// Waits until the list of tools is marked as changed.
    pub async fn changed(&self) {
        let notified = self.changed.notified();
        if !self.is_stale.load(Ordering::SeqCst) {
            notified.await;
        }
    }

    /// Puts a question to a person.
    ///
    /// Fails when the client has not offered that, or nobody could be asked.
    async fn ask(&self, params: &Value, context: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        if !self.allows_questions() {
            return Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>());
        }
        let question = RemoteQuestion::read(params, self.limits.definition_bytes)?;
        self.running.ask(&self.server, self.limits.requests, question, &context).await
    }
}

impl ClientHandler for ClientEnd {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let capabilities = if self.0.allows_questions() {
            ClientCapabilities::builder().enable_elicitation().build()
        } else {
            ClientCapabilities::default()
        };
        let mut config = ClientConfig::new(capabilities, client);
        // The last revision that begins with `initialize`. Later ones are negotiated without it.
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(cx) = self.0.running.context(&params.progress_token) {
            cx.report_progress(params.progress, params.total, escape(params.message.as_deref().unwrap_or_default()));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.mark_stale();
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(logs) = &self.0.logs {
            logs.receive(self.0.server(), params.level, params.logger.as_deref(), &params.data);
        }
    }

    /// Refuses the request. An empty list would mean that the client supports roots. rmcp refuses sampling with the same error.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    /// Handles the questions to a person. rmcp refuses all other requests that it does not know, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != QUESTION {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let answer = self.0.ask(&request.params.unwrap_or_default(), context).await?;
        Ok(CustomResult::new(serde_json::to_value(answer).unwrap_or_default()))
    }
}

/// The maximum length of a log message before it is escaped, in characters.
const MAX_MESSAGE_CHARACTERS: usize = 2000;

/// A log message of a server. It is untrusted: at most 2,000 characters of the server's text, with deceptive ones escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteLog {
    /// The application's name for the server.
    pub server: String,
    /// The severity that the server claims.
    pub level: LogLevel,
    /// The part of the server that logs, if the server names it.
    pub logger: Option<String>,
    /// The message, as text or JSON.
    pub text: String,
}

impl fmt::Display for RemoteLog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.server, self.level, one_line(&self.text))
    }
}

/// The receiver of log messages, and the lowest level that it gets.
#[derive(Clone)]
pub struct LogReceiver {
    pub least: LogLevel,
    pub receive: Arc<dyn Fn(RemoteLog) + Send + Sync>,
}

impl LogReceiver {
    pub fn receive(&self, server: &str, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        let level = LogLevel::of(level);
        if level < self.least {
            return;
        }
        let text = match data {
            Value::String(text) => text.chars().take(MAX_MESSAGE_CHARACTERS).collect(),
            other => other.to_string().chars().take(MAX_MESSAGE_CHARACTERS).collect::<String>(),
        };
        let logger = logger.map(|logger| one_line(&logger.chars().take(64).collect::<String>()));
        (self.receive)(RemoteLog { server: server.to_owned(), level, logger, text: escape(&text) });
    }
}

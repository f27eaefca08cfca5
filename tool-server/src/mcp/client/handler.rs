//! What a server says to us of its own accord.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
        ListRootsRequestMethod, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
        ProgressToken, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::Notify;
use tool_runtime::{Context, feedback::escape};

use super::{RemoteServer, call::question, logs::Hearing};

/// Our end of a connection.
#[derive(Clone)]
pub(super) struct Local(pub(super) Arc<Inbox>);

/// What a server has said, and the calls that it may be about.
pub(super) struct Inbox {
    /// The server's name, for the person who is asked.
    server: String,
    questions: bool,
    pub(super) logs: Option<Hearing>,
    running: Mutex<HashMap<ProgressToken, Context>>,
    is_stale: AtomicBool,
    changed: Notify,
}

impl Inbox {
    pub(super) fn new(server: &RemoteServer) -> Self {
        Self {
            server: server.name.clone(),
            questions: server.questions,
            logs: server.logs.clone(),
            running: Mutex::default(),
            is_stale: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn asks(&self) -> bool {
        self.questions
    }

    /// A call began.
    pub(super) fn begin(&self, token: ProgressToken, cx: Context) {
        self.running().insert(token, cx);
    }

    /// A call ended.
    pub(super) fn end(&self, token: &ProgressToken) {
        self.running().remove(token);
    }

    /// The list of tools is not what it was.
    pub(super) fn has_changed(&self) {
        self.is_stale.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Whether the list has to be read again; it is asked before it is.
    pub(super) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::SeqCst)
    }

    pub(super) async fn changed(&self) {
        let notified = self.changed.notified();
        if !self.is_stale.load(Ordering::SeqCst) {
            notified.await;
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ProgressToken, Context>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that a request is about that names none: the only one.
    fn only(&self) -> Option<Context> {
        let running = self.running();
        let mut calls = running.values();
        calls.next().filter(|_| running.len() == 1).cloned()
    }
}

impl ClientHandler for Local {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        let capabilities = if self.0.questions {
            ClientCapabilities::builder().enable_elicitation().build()
        } else {
            ClientCapabilities::default()
        };
        let mut config = ClientConfig::new(capabilities, client);
        // The last that begins with `initialize`; later ones are found out without it.
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let cx = self.0.running().get(&params.progress_token).cloned();
        if let Some(cx) = cx {
            cx.progress(params.progress, params.total, escape(params.message.as_deref().unwrap_or_default()));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.has_changed();
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(logs) = &self.0.logs {
            logs.tell(self.0.server(), params.level, params.logger.as_deref(), &params.data);
        }
    }

    /// A server has no roots here, which is not the same as an empty list of them. Sampling is refused in the same words,
    /// by rmcp.
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let call = self.0.only().filter(|_| self.0.questions);
        match call {
            Some(cx) => Ok(question(self.0.server(), &cx, params).await),
            None => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }
}

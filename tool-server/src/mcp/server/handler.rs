//! The protocol's methods, for one connection.

use std::sync::{Arc, Mutex};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CancelTaskMethod, CancelTaskParams,
        ConstString as _, CustomRequest, CustomResult, ErrorCode, GetTaskMethod, GetTaskParams, GetTaskResult,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscriptionFilter, Tool, UpdateTaskMethod, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use serde::de::DeserializeOwned;
use tool_runtime::run::Principal;

use super::{
    Shared, call,
    caller::{RequestClient, caller_of, principal},
    reading::GivenCall,
};
use crate::{host::lock, mcp::LogLevel};

/// The handler of a connection.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<Shared>,
    /// The lowest log level that the client of this session wants.
    level: Arc<Mutex<LogLevel>>,
}

impl Handler {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, level: Arc::default() }
    }

    fn level(&self) -> LogLevel {
        *lock(&self.level)
    }

    /// Returns the principal on whose behalf a request is made.
    fn principal(&self, context: &RequestContext<RoleServer>) -> Principal {
        principal(&self.shared.offer().agent, context)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed();
        let capabilities =
            if self.shared.tasks.are_enabled() { capabilities.enable_tasks().build() } else { capabilities.build() };
        let mut info = ServerConfig::new(capabilities);
        let mut server = Implementation::new(self.shared.name.clone(), self.shared.version.clone());
        server.title = self.shared.title.clone();
        info.server_info = server;
        info.instructions = self.shared.instructions.clone();
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.shared.offer_for(caller_of(&context)).await?.page(cursor.as_deref(), self.shared.page)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.offer().get(name).map(|tool| tool.definition.clone())
    }

    // Boxed, like the future of `listen`. rmcp moves a request's future several times, and the future of every request is as
    // large as the largest one.
    fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send + '_ {
        let request = GivenCall::new(request, &mut context.extensions);
        Box::pin(call::call(&self.shared, request, RequestClient::new(context), self.level()))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        *lock(&self.level) = LogLevel::of(request.level);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_request_error(&request, self.shared.tasks.are_enabled()))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.shared.tasks.list.get(&request.task_id, &self.principal(&context))?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.list.update(&request.task_id, request.input_responses, &self.principal(&context))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.tasks.list.cancel(&request.task_id, &self.principal(&context))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut offer = self.shared.offer.subscribe();
        tokio::spawn(async move {
            while !context.peer.is_transport_closed() && offer.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::default();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    fn listen(&self, context: SubscriptionContext) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        let mut offer = self.shared.offer.subscribe();
        Box::pin(async move {
            loop {
                tokio::select! {
                    () = context.cancelled() => return Ok(()),
                    changed = offer.changed() => {
                        if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
        })
    }
}

/// Returns the error for a request that rmcp does not recognize.
///
/// rmcp 3.11 reads a request with malformed parameters as one of an unknown method (`ClientRequest` is an untagged enum). The
/// test `a_failure_reaches_the_model_or_the_client` fails without this.
fn unknown_request_error(request: &CustomRequest, has_tasks: bool) -> ErrorData {
    let reason = match request.method.as_str() {
        CallToolRequestMethod::VALUE => describe_problem::<CallToolRequestParams>(request),
        GetTaskMethod::VALUE if has_tasks => describe_problem::<GetTaskParams>(request),
        UpdateTaskMethod::VALUE if has_tasks => describe_problem::<UpdateTaskParams>(request),
        CancelTaskMethod::VALUE if has_tasks => describe_problem::<CancelTaskParams>(request),
        method => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None),
    };
    ErrorData::invalid_params(format!("the parameters of `{}` are malformed: {reason}", request.method), None)
}

/// Describes the problem of parameters that should be a `T`.
fn describe_problem<T: DeserializeOwned>(request: &CustomRequest) -> String {
    match request.params_as::<T>() {
        Err(error) => error.to_string(),
        Ok(None) => "there are none".to_owned(),
        Ok(Some(_)) => "its `_meta` is not of the protocol".to_owned(),
    }
}

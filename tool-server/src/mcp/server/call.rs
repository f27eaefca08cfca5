//! One `tools/call`: how somebody can be asked, how progress is told, and what ends it.

use std::{
    future::pending,
    sync::{Arc, atomic::Ordering},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ProgressNotificationParam},
    service::RequestContext,
};
use tool_runtime::{Agent, Cancellation, Context, run::Principal};

use super::{
    McpClient, Shared,
    exchange::Exchange,
    front::{Asking, CallFront, Reporter, Reports},
    handler::is_modern,
    list::Offer,
    tasks::{self, TaskSupport},
};
use crate::mcp::LogLevel;

/// Whom the application has authenticated as the client of an HTTP request.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Authenticated(pub(in crate::mcp) Principal);

pub(super) async fn call(
    shared: &Arc<Shared>,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let offer = shared.offer();
    let Some(tool) = offer.agent.toolset().get(&request.name) else {
        return Err(ErrorData::invalid_params(format!("there is no tool called `{}`", request.name), None));
    };
    let client = context.client_capabilities().unwrap_or_default();
    let behind = McpClient::of(&context, level);
    match (shared.tasks.support(tool.spec()), client.supports_tasks()) {
        (TaskSupport::Never, _) | (TaskSupport::Possible, false) => {}
        (TaskSupport::Required, false) => {
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        (_, true) => return tasks::begin(shared, offer, request, &context, behind),
    }
    here(shared, &offer, request, context, behind, client.elicitation.is_some()).await
}

/// The call while its client waits for the result.
async fn here(
    shared: &Shared,
    offer: &Offer,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
    behind: McpClient,
    asks: bool,
) -> Result<CallToolResponse, ErrorData> {
    let modern = is_modern(&context);
    let asking = match (asks, modern) {
        (false, _) => Asking::Never,
        (true, true) => Asking::ByResult,
        (true, false) => Asking::ByRequest(context.peer.clone()),
    };
    let reporter = context.meta.get_progress_token().map(Reporter::new);
    let progress = reporter.as_ref().map(Reporter::reports);
    let cancellation = Cancellation::new();
    let front = CallFront::new(asking, reporter);
    let asked_in_vain = front.asked_in_vain();
    let agent = offer.agent.clone().front(front);
    let agent = of_client(agent, &context, cancellation.clone(), Some(behind));
    let Some(listed) = offer.get(&request.name) else {
        return Err(ErrorData::internal_error("the tool is not listed", None));
    };
    let has_schema = listed.tool(modern).output_schema.is_some();
    let by_result = modern && asks;
    // Boxed: what a run needs while it is driven is large, and lies in the future of each request otherwise.
    let mut work = Box::pin(Exchange { shared, agent, listed, has_schema, by_result }.run(request));
    let mut is_cancelled = false;
    let done = loop {
        tokio::select! {
            biased;
            () = context.ct.cancelled(), if !is_cancelled => {
                // The run is told, rather than dropped: its log then says how the call ended.
                is_cancelled = true;
                cancellation.cancel();
            }
            told = next(progress.as_deref()) => drop(context.peer.notify_progress(told).await),
            done = &mut work => break done,
        }
    };
    // What the tool has said comes before its result.
    while let Some(told) = progress.as_ref().and_then(|progress| progress.take()) {
        let _ = context.peer.notify_progress(told).await;
    }
    match done {
        // The revision has an error for that, by which a client knows what it lacks. Before, the model is told in words.
        Ok(CallToolResponse::Complete(result)) if modern && fails(&result) && asked_in_vain.load(Ordering::Relaxed) => {
            let required = ClientCapabilities::builder().enable_elicitation().build();
            let mut error = ErrorData::missing_required_client_capability(required);
            error.message = said(&result).into();
            Err(error)
        }
        done => done,
    }
}

fn fails(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}

/// What a model would be told of a call.
fn said(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

/// The next progress of a call; never, where nobody wants any.
async fn next(progress: Option<&Reports>) -> ProgressNotificationParam {
    match progress {
        Some(progress) => progress.next().await,
        None => pending().await,
    }
}

/// The agent, on behalf of the client of a request.
pub(super) fn of_client(
    agent: Agent,
    context: &RequestContext<RoleServer>,
    cancellation: Cancellation,
    client: Option<McpClient>,
) -> Agent {
    let parts = context.extensions.get::<http::request::Parts>();
    let authenticated = parts.and_then(|parts| parts.extensions.get::<Authenticated>());
    agent.with_context(|cx: Context| {
        let cx = cx.with_cancellation(cancellation);
        let cx = match client {
            Some(client) => cx.with(client),
            None => cx,
        };
        match authenticated {
            Some(Authenticated(principal)) => cx.with_principal(principal.as_str()),
            None => cx,
        }
    })
}

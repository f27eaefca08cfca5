//! One `tools/call`: how somebody can be asked, how progress is told, and what ends it.

use std::{future::pending, pin::pin, sync::Arc};

use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ProgressNotificationParam},
};
use tool_runtime::Cancellation;

use super::{
    Shared,
    caller::Caller,
    exchange::Exchange,
    front::{Asking, CallFront, Reports},
    list::Offer,
    tasks::{self, TaskSupport},
};
use crate::mcp::LogLevel;

pub(super) async fn call(
    shared: &Arc<Shared>,
    request: CallToolRequestParams,
    caller: Arc<Caller>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let offer = shared.offer();
    let Some(tool) = offer.agent.toolset().get(&request.name) else {
        return Err(ErrorData::invalid_params(format!("there is no tool called `{}`", request.name), None));
    };
    let support = shared.tasks.support(tool.spec());
    if support != TaskSupport::Never {
        match (support, caller.capabilities().supports_tasks()) {
            (_, true) => return tasks::begin(shared, offer, request, &caller, level),
            (TaskSupport::Required, false) => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            (TaskSupport::Never | TaskSupport::Possible, false) => {}
        }
    }
    here(shared, &offer, request, &caller, level).await
}

/// The call while its client waits for the result.
async fn here(
    shared: &Shared,
    offer: &Offer,
    request: CallToolRequestParams,
    caller: &Arc<Caller>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let Some(listed) = offer.get(&request.name) else {
        return Err(ErrorData::internal_error("the tool is not listed", None));
    };
    let has_schema = listed.tool(caller.is_modern()).output_schema.is_some();
    let front = Arc::new(CallFront::new(Asking::Here(Arc::clone(caller)), caller.progress_token()));
    let cancellation = Cancellation::new();
    let agent = offer.agent.clone().front(Arc::clone(&front));
    let agent = caller.represent(agent, cancellation.clone(), level);
    let exchange = Exchange { shared, agent, listed, has_schema, caller: Some(caller) };
    let mut work = pin!(exchange.run(request));
    let mut is_cancelled = false;
    let done = loop {
        tokio::select! {
            biased;
            () = caller.gone().cancelled(), if !is_cancelled => {
                // The run is told, rather than dropped: its log then says how the call ended.
                is_cancelled = true;
                cancellation.cancel();
            }
            told = next(&front) => drop(caller.peer().notify_progress(told).await),
            done = &mut work => break done,
        }
    };
    // What the tool has said comes before its result.
    while let Some(told) = front.progress().and_then(Reports::take) {
        let _ = caller.peer().notify_progress(told).await;
    }
    match done {
        // The revision has an error for that, by which a client knows what it lacks. Before, the model is told in words.
        Ok(CallToolResponse::Complete(result)) if caller.is_modern() && fails(&result) && front.asked_in_vain() => {
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
async fn next(front: &CallFront) -> ProgressNotificationParam {
    match front.progress() {
        Some(progress) => progress.next().await,
        None => pending().await,
    }
}

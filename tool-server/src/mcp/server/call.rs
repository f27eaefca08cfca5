//! One `tools/call`: questions to the client, progress, and the end.

use std::{
    future::{pending, poll_fn, ready},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use futures_util::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ProgressNotificationParam},
};
use tool_runtime::Cancellation;

use super::{
    Shared,
    caller::Caller,
    exchange::{Exchange, Wanted},
    list::Offer,
    operator::{Asking, CallOperator, Reports},
    tasks::{self, TaskSupport},
};
use crate::mcp::LogLevel;

pub fn call(
    shared: &Arc<Shared>,
    request: CallToolRequestParams,
    caller: Arc<Caller>,
    level: LogLevel,
) -> BoxFuture<'_, Result<CallToolResponse, ErrorData>> {
    let offer = shared.offer();
    let Some(at) = offer.find(&request.name) else {
        let error = ErrorData::invalid_params(format!("there is no tool called `{}`", request.name), None);
        return Box::pin(ready(Err(error)));
    };
    let support = shared.tasks.support(offer.agent.toolset(), &request.name);
    if support != TaskSupport::Never {
        match (support, caller.capabilities().supports_tasks()) {
            (_, true) => return Box::pin(ready(tasks::begin(shared, offer, request, &caller, level))),
            (TaskSupport::Required, false) => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                return Box::pin(ready(Err(ErrorData::missing_required_client_capability(required))));
            }
            (TaskSupport::Never | TaskSupport::Possible, false) => {}
        }
    }
    // The request is large, and not held while it is worked on.
    Box::pin(here(shared, offer, at, Wanted::of(request), caller, level))
}

/// The call while its client waits for the result.
async fn here(
    shared: &Shared,
    offer: Arc<Offer>,
    at: usize,
    wanted: Wanted,
    caller: Arc<Caller>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let (agent, listed, caller) = (&offer.agent, offer.listed(at), &caller);
    let has_schema = listed.tool(caller.is_modern()).output_schema.is_some();
    let operator = Arc::new(CallOperator::new(Asking::Here(Arc::clone(caller)), caller.progress_token()));
    let gone = Cancellation::new();
    let is_unfinished = matches!(wanted, Wanted::Unfinished { .. });
    // An unfinished call comes with what somebody has decided, and that must not end between the decision and the work.
    let cancellation = if is_unfinished { Cancellation::new() } else { gone.clone() };
    let represent = |cx| caller.represent(cx, &cancellation, level);
    let exchange = Exchange {
        shared,
        agent,
        represent: &represent,
        operator: Arc::clone(&operator),
        listed,
        has_schema,
        caller: Some(caller),
        gone: is_unfinished.then_some(&gone),
    };
    let mut work = pin!(exchange.run(wanted));
    if caller.gone().is_cancelled() {
        gone.cancel();
    }
    // Many tools do not wait for anything, and most clients want no progress: then nobody has to listen, and nothing is to be sent.
    // The rest is boxed, so that the future of such a call need not be as large.
    let first = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
    let rest = match first {
        Poll::Ready(done) if operator.progress().is_none() => return ended(done, caller, &operator),
        first => Box::pin(waited(first, work, caller, &operator, &gone)),
    };
    ended(rest.await, caller, &operator)
}

/// Waits for `work`, whose first poll gave `first`. Meanwhile it sends progress to the client, and cancels the work when the
/// client has gone.
async fn waited<T>(
    first: Poll<T>,
    mut work: Pin<&mut impl Future<Output = T>>,
    caller: &Caller,
    operator: &CallOperator,
    cancellation: &Cancellation,
) -> T {
    // The client may have gone while the work was polled: then the work is cancelled now.
    let mut is_cancelled = false;
    // A client that does not read must not hold the tool up.
    let mut sending = None;
    let mut done = first;
    let done = loop {
        if let Poll::Ready(done) = done {
            break done;
        }
        tokio::select! {
            biased;
            () = caller.gone().cancelled(), if !is_cancelled => {
                // The run is cancelled, not dropped: its log then has the end of the call.
                is_cancelled = true;
                cancellation.cancel();
            }
            report = next(operator), if sending.is_none() => sending = Some(Box::pin(caller.peer().notify_progress(report))),
            () = sent(&mut sending) => sending = None,
            ended = &mut work => done = Poll::Ready(ended),
        }
    };
    // Progress comes before the result.
    if let Some(sending) = sending {
        let _ = sending.await;
    }
    while let Some(report) = operator.progress().and_then(Reports::take) {
        let _ = caller.peer().notify_progress(report).await;
    }
    done
}

/// Returns the response to a call that is over.
fn ended(
    done: Result<CallToolResponse, ErrorData>,
    caller: &Caller,
    operator: &CallOperator,
) -> Result<CallToolResponse, ErrorData> {
    match done {
        // The revision has an error for that, by which a client knows what it lacks. Before, the model reads it in words.
        Ok(CallToolResponse::Complete(result)) if caller.is_modern() && fails(&result) && operator.asked_in_vain() => {
            let required = ClientCapabilities::builder().enable_elicitation().build();
            let mut error = ErrorData::missing_required_client_capability(required);
            error.message = text_of(&result).into();
            Err(error)
        }
        done => done,
    }
}

fn fails(result: &CallToolResult) -> bool {
    result.is_error == Some(true)
}

/// Returns the text that a model would read of a call.
fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

/// Ends when what is being sent has been; never, where nothing is.
async fn sent<T>(sending: &mut Option<impl Future<Output = T> + Unpin>) {
    match sending {
        Some(sending) => drop(sending.await),
        None => pending().await,
    }
}

/// The next progress of a call; never, where nobody wants any.
async fn next(operator: &CallOperator) -> ProgressNotificationParam {
    match operator.progress() {
        Some(progress) => progress.next().await,
        None => pending().await,
    }
}

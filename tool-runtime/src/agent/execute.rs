//! The calls of one turn: approved where they must be, run side by side, each ending with one result.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, Semaphore},
    task::JoinSet,
    time::Instant,
};

use super::{Agent, ApprovalRequest, Decision, Event, ExternalCall};
use crate::message::{Message, ToolCall};
use crate::tool::{CallError, Cancellation, Context, DynTool, Output, Started};
use crate::toolset::{Toolset, run};

type Outcome = Result<Output, CallError>;

/// Runs `calls` and returns their results in the same order.
///
/// Calls of `sequential` tools run alone, in the model's order; the others between them run side by side.
pub(super) async fn all(agent: &Agent, tools: &Toolset, calls: &[ToolCall], messages: Vec<Message>) -> Vec<Outcome> {
    let cx = agent.context.clone().with_messages(messages);
    let shared = Arc::new(Shared {
        agent: agent.clone(),
        tools: tools.clone(),
        cx,
        asking: Mutex::new(()),
        running: Semaphore::new(agent.parallel),
    });
    let mut results: Vec<Option<Outcome>> = calls.iter().map(|_| None).collect();
    let mut set = JoinSet::new();
    for (index, call) in calls.iter().enumerate() {
        if index >= agent.max_calls {
            let limit = format!("at most {} calls are run in one turn", agent.max_calls);
            results[index] = Some(Err(CallError::OverBudget { limit }));
            continue;
        }
        let alone = tools.get(&call.name).is_some_and(|tool| tool.spec().traits.sequential);
        if alone {
            drain(&mut set, &mut results).await;
        }
        let (shared, call) = (Arc::clone(&shared), call.clone());
        set.spawn(async move { (index, shared.one(call).await) });
        if alone {
            drain(&mut set, &mut results).await;
        }
    }
    drain(&mut set, &mut results).await;
    results.into_iter().map(|result| result.unwrap_or(Err(CallError::Cancelled))).collect()
}

async fn drain(set: &mut JoinSet<(usize, Outcome)>, results: &mut [Option<Outcome>]) {
    while let Some(joined) = set.join_next().await {
        if let Ok((index, result)) = joined {
            results[index] = Some(result);
        }
    }
}

/// What the calls of one turn share.
struct Shared {
    agent: Agent,
    tools: Toolset,
    cx: Context,
    /// One question to people at a time.
    asking: Mutex<()>,
    running: Semaphore,
}

impl Shared {
    async fn one(&self, mut call: ToolCall) -> Outcome {
        let cancellation = self.cx.cancellation().clone();
        let result = tokio::select! {
            result = self.decide_and_run(&mut call) => result,
            () = cancellation.cancelled() => Err(CallError::Cancelled),
        };
        self.agent.front.event(Event::CallFinished { call: &call, result: &result });
        result
    }

    async fn decide_and_run(&self, call: &mut ToolCall) -> Outcome {
        let Some(tool) = self.tools.get(&call.name).cloned() else {
            // The toolset words the refusal.
            let cx = self.cx.clone().for_call(call.id.as_str());
            return self.tools.call(&call.name, &call.arguments, &cx).await;
        };
        self.approve(&tool, call).await?;
        if tool.spec().traits.external {
            return self.outside(&tool, call).await;
        }
        let Ok(_permit) = self.running.acquire().await else { return Err(CallError::Cancelled) };
        self.agent.front.event(Event::CallStarted(call));
        let mut tries = 0;
        loop {
            let result = self.run(call, &tool).await;
            let again = match &result {
                Err(CallError::Failed(failure)) => failure.is_retryable(),
                Err(CallError::TimedOut { .. }) => true,
                _ => false,
            };
            if !again || tries >= tool.spec().traits.retries {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(50) * 2u32.saturating_pow(tries)).await;
            tries += 1;
        }
    }

    /// Asks for approval until there is a decision that holds. An edit replaces the call's arguments.
    async fn approve(&self, tool: &Arc<dyn DynTool>, call: &mut ToolCall) -> Result<(), CallError> {
        let needs_approval = {
            let cx = self.cx.clone().for_call(call.id.as_str());
            self.tools.start(&call.name, &call.arguments, &cx)?.needs_approval
        };
        if !needs_approval {
            return Ok(());
        }
        let _asking = self.asking.lock().await;
        let mut request = ApprovalRequest {
            call_id: call.id.clone(),
            spec: Arc::clone(tool.spec()),
            arguments: tool.spec().with_defaults(&call.arguments)?,
            written: tool.spec().written(&call.arguments)?,
            feedback: None,
        };
        loop {
            match self.agent.front.approve(&request).await {
                Decision::Approve => return Ok(()),
                Decision::Deny { reason } => return Err(CallError::Denied { reason }),
                Decision::Edit { arguments } => {
                    let text = arguments.to_string();
                    let cx = self.cx.clone().for_call(call.id.as_str());
                    let accepted = self.tools.start(&call.name, &text, &cx).map(drop);
                    match accepted {
                        Ok(()) => {
                            call.arguments = text;
                            return Ok(());
                        }
                        Err(CallError::Rejected(rejection)) => request.feedback = Some(rejection),
                        Err(other) => return Err(other),
                    }
                }
            }
        }
    }

    /// Has somebody outside execute the call, until there is an output that fits.
    async fn outside(&self, tool: &Arc<dyn DynTool>, call: &ToolCall) -> Outcome {
        let _asking = self.asking.lock().await;
        let mut request = ExternalCall {
            call_id: call.id.clone(),
            spec: Arc::clone(tool.spec()),
            arguments: tool.spec().with_defaults(&call.arguments)?,
            written: tool.spec().written(&call.arguments)?,
            feedback: None,
        };
        self.agent.front.event(Event::CallStarted(call));
        loop {
            let Some(output) = self.agent.front.execute(&request).await else { return Err(CallError::NotExecuted) };
            match self.tools.answer(&call.name, &output) {
                Err(CallError::Rejected(rejection)) => request.feedback = Some(rejection),
                result => return result,
            }
        }
    }

    /// Runs the call on a task of its own, and stops waiting for it when its time is over: a tool that ignores
    /// cancellation, or blocks its thread, cannot hold the run.
    async fn run(&self, call: &ToolCall, tool: &Arc<dyn DynTool>) -> Outcome {
        let limit = tool.spec().traits.timeout;
        let stop = StopOnDrop(Cancellation::new());
        let front = Arc::clone(&self.agent.front);
        let mut cx = self.cx.clone().for_call(call.id.as_str()).with_cancellation(stop.0.clone());
        cx = cx.with_progress(move |progress| front.event(Event::CallProgress(&progress)));
        let deadline = limit.map(|limit| Instant::now() + limit);
        if let Some(deadline) = deadline {
            cx = cx.with_deadline(deadline.into_std());
        }
        let (tools, name, arguments) = (self.tools.clone(), call.name.clone(), call.arguments.clone());
        let work = async move {
            let Started { work, .. } = tools.start(&name, &arguments, &cx)?;
            run(work).await
        };
        let mut task = if tool.spec().traits.blocking {
            let handle = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || handle.block_on(work))
        } else {
            tokio::spawn(work)
        };
        let _abort = AbortOnDrop(task.abort_handle());
        let joined = match (deadline, limit) {
            (Some(deadline), Some(limit)) => match tokio::time::timeout_at(deadline, &mut task).await {
                Ok(joined) => joined,
                Err(_) => return Err(CallError::TimedOut { limit }),
            },
            _ => task.await,
        };
        joined.unwrap_or_else(|error| Err(CallError::Panicked { message: error.to_string() }))
    }
}

/// Tells the tool that nobody waits any more.
struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

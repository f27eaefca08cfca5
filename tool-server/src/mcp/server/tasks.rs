//! Long calls as tasks: the client gets a handle at once, and fetches the result later.

use std::{pin::pin, sync::Arc};

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, CreateTaskResult},
};
use tool_runtime::{Agent, Cancellation, ToolSpec, Toolset};

use super::{
    Shared,
    call::Exchange,
    caller::RequestClient,
    list::Offer,
    operator::{AskVia, CallOperator},
    reading::GivenCall,
    task_list::{Exit, TaskHandle, TaskList},
};
use crate::mcp::LogLevel;

/// The choice of whether the calls of a tool become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Calls do not become tasks: the client waits for the result.
    #[default]
    Forbidden,
    /// Calls become tasks for clients that support tasks. Other clients wait.
    Optional,
    /// Calls always become tasks. Clients that do not support tasks cannot call the tool.
    Required,
}

type Support = dyn Fn(&ToolSpec) -> TaskSupport + Send + Sync;

/// The tasks of a server, and the choice of the tools whose calls become tasks.
#[derive(Clone, Default)]
pub struct Tasks {
    support: Option<Arc<Support>>,
    pub list: TaskList,
}

impl Tasks {
    pub fn new(support: impl Fn(&ToolSpec) -> TaskSupport + Send + Sync + 'static) -> Self {
        Self { support: Some(Arc::new(support)), ..Self::default() }
    }

    /// Returns whether calls can become tasks.
    pub fn are_enabled(&self) -> bool {
        self.support.is_some()
    }

    /// Returns the choice for the tool `name` of `tools`.
    pub fn support(&self, tools: &Toolset, name: &str) -> TaskSupport {
        let declared = self.support.as_ref().and_then(|support| Some(support(tools.get(name)?.spec())));
        declared.unwrap_or(TaskSupport::Forbidden)
    }
}

pub fn begin_task(
    shared: &Arc<Shared>,
    offer: Arc<Offer>,
    request: GivenCall,
    caller: &Arc<RequestClient>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let cancellation = Cancellation::new();
    let agent = offer.agent.clone().edit_context(|cx| caller.represent(cx, &cancellation, level));
    let owner = agent.owner();
    let can_ask = caller.can_ask();
    let server = Arc::clone(shared);
    let task = shared.tasks.list.begin(&owner, |task| {
        Box::pin(async move { run_task(&server, &offer, agent, request, cancellation, task, can_ask).await })
    })?;
    Ok(CreateTaskResult::new(task).into())
}

/// Makes the call of a task. Ends early if the task is cancelled.
async fn run_task(
    shared: &Shared,
    offer: &Offer,
    agent: Agent,
    request: GivenCall,
    cancellation: Cancellation,
    task: TaskHandle,
    can_ask: bool,
) -> Result<CallToolResult, Exit> {
    let Some(listed) = offer.get(&request.params.name) else {
        return Err(ErrorData::internal_error("the tool is not listed", None).into());
    };
    let ask_via = if can_ask { AskVia::Task(task.clone()) } else { AskVia::Nobody };
    let operator = Arc::new(CallOperator::new(ask_via, None).0);
    let exchange = Exchange::new(shared, agent, &operator, listed, None, None);
    let mut work = pin!(exchange.run(request));
    let done = tokio::select! {
        done = &mut work => done,
        () = task.cancelled() => {
            cancellation.cancel();
            work.await
        }
    };
    match done {
        Ok(CallToolResponse::Complete(result)) => Ok(result),
        Ok(_) => Err(ErrorData::internal_error("the task came to no result", None).into()),
        Err(_) if cancellation.is_cancelled() => Err(Exit::Cancelled),
        Err(error) => Err(error.into()),
    }
}

//! Long calls as tasks: the client gets a handle at once, and fetches the result later.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex},
};

use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, InputResponses},
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use tool_runtime::{Agent, Cancellation, ToolSpec, Toolset, run::Principal};

use super::{
    Shared,
    call::Exchange,
    caller::Caller,
    list::Offer,
    operator::{AskVia, CallOperator},
    reading::GivenCall,
};
use crate::{host::lock, mcp::LogLevel};

/// The maximum number of running tasks.
const MAX_RUNNING: usize = 1024;

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

/// The tasks of a server, with their owners.
#[derive(Clone, Default)]
pub struct Tasks {
    support: Option<Arc<Support>>,
    manager: TaskManager,
    owners: Arc<Mutex<HashMap<String, Principal>>>,
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

    pub fn get(&self, id: &str, by: &Principal) -> Result<DetailedTask, ErrorData> {
        self.check(id, by)?;
        self.manager.get_task(id)
    }

    pub fn update(&self, id: &str, responses: InputResponses, by: &Principal) -> Result<(), ErrorData> {
        self.check(id, by)?;
        self.manager.update_task(id, responses)
    }

    pub fn cancel(&self, id: &str, by: &Principal) -> Result<(), ErrorData> {
        self.check(id, by)?;
        self.manager.cancel_task(id)
    }

    /// Checks that the task exists and belongs to the principal. The error is the same in both cases, so a guessed id reveals
    /// nothing.
    fn check(&self, id: &str, by: &Principal) -> Result<(), ErrorData> {
        if lock(&self.owners).get(id) == Some(by) {
            return Ok(());
        }
        Err(ErrorData::invalid_params("there is no such task", None))
    }
}

pub fn begin_task(
    shared: &Arc<Shared>,
    offer: Arc<Offer>,
    request: GivenCall,
    caller: &Arc<Caller>,
    level: LogLevel,
) -> Result<CallToolResponse, ErrorData> {
    let tasks = &shared.tasks;
    if tasks.manager.running_task_count() >= MAX_RUNNING {
        return Err(ErrorData::internal_error(format!("at most {MAX_RUNNING} tasks run at a time"), None));
    }
    let cancellation = Cancellation::new();
    let agent = offer.agent.clone().edit_context(|cx| caller.represent(cx, &cancellation, level));
    let owner = agent.owner();
    let can_ask = caller.can_ask();
    let server = Arc::clone(shared);
    let task = tasks.manager.spawn(TaskOptions::new(), |task| {
        Box::pin(async move { run_task(&server, &offer, agent, request, cancellation, task, can_ask).await })
    });
    let mut owners = lock(&tasks.owners);
    owners.retain(|id, _| tasks.manager.get_task(id).is_ok());
    owners.insert(task.task_id.clone(), owner);
    drop(owners);
    Ok(CreateTaskResult::new(task).into())
}

/// Makes the call of a task. Ends early if the task is cancelled.
async fn run_task(
    shared: &Shared,
    offer: &Offer,
    agent: Agent,
    request: GivenCall,
    cancellation: Cancellation,
    task: TaskContext,
    can_ask: bool,
) -> Result<CallToolResult, TaskExit> {
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
        Err(_) if cancellation.is_cancelled() => Err(TaskExit::Cancelled),
        Err(error) => Err(error.into()),
    }
}

//! The runs that a worker leaves alone: those of other applications, and those with calls of tools that its agent lacks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use super::{
    Agent, AgentError,
    observers::{report_left_run, report_unreadable_run},
    subagent::inner_run,
    typed::with_answer,
};
use crate::run::{Call, InterruptKind, Run, RunId};
use crate::store::StoreError;
use crate::sync::lock;
use crate::tool::ErasedTool;

/// The maximum number of runs that are remembered.
const MAX_REMEMBERED: usize = 1 << 16;

/// The runs that a worker has left alone, so that it reports each only once, and does not load it again.
#[derive(Default)]
pub struct LeftRuns(Mutex<HashMap<RunId, LeftRun>>);

struct LeftRun {
    left: Left,
    /// Set if the run was due at the last look. Another process may drive it meanwhile, and leave it due again.
    is_due: bool,
}

/// The reason why a worker has left a run alone.
#[derive(Clone, Copy)]
enum Left {
    /// Another application made the run. This never changes.
    IsForeign,
    /// A tool was missing when the log had this number of entries.
    LacksTool(u64),
    /// The run could not be loaded. The next look tries again.
    CannotLoad,
}

impl LeftRuns {
    /// Returns the number of the runs that were due at the last look.
    pub fn count_due(&self) -> usize {
        lock(&self.0).values().filter(|run| run.is_due).count()
    }

    /// Notes which runs are due now.
    pub fn set_due(&self, is_due: impl Fn(&RunId) -> bool) {
        lock(&self.0).iter_mut().for_each(|(id, run)| run.is_due = is_due(id));
    }

    fn get(&self, run: &RunId) -> Option<Left> {
        lock(&self.0).get(run).map(|run| run.left)
    }

    /// Remembers a run. Returns whether it is new.
    fn insert(&self, run: &RunId, left: Left) -> bool {
        let mut runs = lock(&self.0);
        if runs.len() >= MAX_REMEMBERED && !runs.contains_key(run) {
            // Runs that are not due may not exist any more.
            runs.retain(|_, run| run.is_due);
            if runs.len() >= MAX_REMEMBERED {
                runs.clear();
            }
        }
        runs.insert(run.clone(), LeftRun { left, is_due: true }).is_none()
    }

    fn remove(&self, run: &RunId) {
        lock(&self.0).remove(run);
    }
}

impl Agent {
    /// Returns the reason why a worker with this agent leaves `run` alone, or `None` if the worker continues the run. There are
    /// two reasons:
    ///
    /// - An agent with another name made the run ([`Agent::name`]).
    /// - A call that waits, is approved or was running needs a tool that the agent lacks, and would end without it. This does not
    ///   concern a call that its client executes: the client's next request declares the tool.
    ///
    /// The agent reports each such run once in the traces: a missing tool as a warning, another application at the level `DEBUG`.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    ///
    /// let agent = |name: &str| Agent::new(ScriptedModel::new([Turn::say("Hello.")])).name(name);
    /// let session = agent("travel").session();
    /// assert_eq!(agent("travel").reason_to_leave(session.run()), None);
    /// let reason = agent("billing").reason_to_leave(session.run()).unwrap();
    /// assert_eq!(reason, "the agent `travel` made the run, and this agent is `billing`");
    /// ```
    pub fn reason_to_leave(&self, run: &Run) -> Option<String> {
        let runs = &self.setup.left_runs;
        let (left, reason) = match (self.foreign_maker(run), self.missing_tool(run)) {
            (Some(reason), _) => (Left::IsForeign, reason),
            (None, Some(reason)) => (Left::LacksTool(run.rev()), reason),
            (None, None) => {
                runs.remove(run.id());
                return None;
            }
        };
        if runs.insert(run.id(), left) {
            report_left_run(run, &reason, matches!(left, Left::LacksTool(_)));
        }
        Some(reason)
    }

    /// Returns whether another application made `run`, and notes it.
    pub(super) fn leaves_foreign(&self, run: &Run) -> bool {
        self.foreign_maker(run).is_some() && self.reason_to_leave(run).is_some()
    }

    /// Reports a run that a worker cannot load, once until it can be loaded.
    pub(super) fn report_unreadable(&self, run: &RunId, error: &AgentError) {
        if self.setup.left_runs.insert(run, Left::CannotLoad) {
            report_unreadable_run(run, error);
        }
    }

    fn foreign_maker(&self, run: &Run) -> Option<String> {
        let made_by = run.made_by().unwrap_or_default();
        if self.names().any(|name| name == made_by) {
            return None;
        }
        let maker =
            if made_by.is_empty() { "an agent without a name".to_owned() } else { format!("the agent `{made_by}`") };
        let own = self.names().next().unwrap_or_default();
        let own = if own.is_empty() { "has no name".to_owned() } else { format!("is `{own}`") };
        Some(format!("{maker} made the run, and this agent {own}"))
    }

    fn missing_tool(&self, run: &Run) -> Option<String> {
        if let Some(reason) = self.missing_member(run) {
            return Some(reason);
        }
        let with_answer = with_answer(self.toolset(), run);
        let tools = with_answer.as_ref().unwrap_or(self.toolset());
        find_missing_tool(run, &|name| tools.get(name))
    }

    /// Returns whether a worker with this agent has left the run alone, and need not load it again.
    pub(super) async fn is_still_left(&self, run: &RunId) -> Result<bool, AgentError> {
        match self.setup.left_runs.get(run) {
            None | Some(Left::CannotLoad) => Ok(false),
            Some(Left::IsForeign) => Ok(true),
            // The caller may have the tool by now.
            Some(Left::LacksTool(_)) if self.asks_for_callers() => Ok(false),
            Some(Left::LacksTool(rev)) => match self.required_store()?.read(run, rev).await {
                Ok(added) => Ok(added.is_empty()),
                Err(StoreError::NotFound) => Ok(false),
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// Returns a text about the first call of `run` that needs a tool that `find` does not find. Also looks into runs inside of calls.
fn find_missing_tool<'a>(run: &Run, find: &dyn Fn(&str) -> Option<&'a Arc<dyn ErasedTool>>) -> Option<String> {
    run.current_calls().iter().filter(|call| needs_tool(call)).find_map(|call| match find(&call.name) {
        None => Some(format!("its call {} needs the tool `{}`, which this agent does not have", call.id, call.name)),
        Some(tool) if tool.inner_tools().is_empty() => None,
        Some(tool) => {
            let inner = tool.inner_tools();
            find_missing_tool(&inner_run(call)?, &|name| inner.iter().find(|tool| tool.name() == name))
        }
    })
}

/// Returns whether a call that a worker continues would end without its tool. The run waits for the client of an external call,
/// which declares its tools with each request.
fn needs_tool(call: &Call) -> bool {
    let is_external = || call.interrupt().is_some_and(|open| open.kind == InterruptKind::External);
    call.tool.is_some() && call.result().is_none() && !is_external()
}

//! An operator that follows the rules of a test.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
};

use futures_util::future::{BoxFuture, pending, ready};
use serde_json::Value;

use crate::agent::{ApprovalRequest, Decision, ExternalCall, Operator, QuestionRequest};
use crate::sync::lock;

/// An operator that decides by rule or by a list, and keeps the requests that it got. Clones are the same person.
///
/// A person without an answer left does not answer: the call waits. Use [`Events`](super::Events) to watch the run.
///
/// ```
/// use tool_runtime::{agent::Decision, test::Person};
///
/// let person = Person::approving();
/// let strict = Person::denying("not today");
/// let careful = Person::editing(|arguments| arguments["amount"] = 1.into());
/// let scripted = Person::deciding([Decision::Approve, Decision::deny("enough")]).executing(["true"]);
/// # let _ = (person, strict, careful, scripted);
/// ```
#[derive(Clone, Default)]
pub struct Person {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    rule: Option<Rule>,
    state: Mutex<State>,
}

type Rule = Box<dyn Fn(&ApprovalRequest) -> Decision + Send + Sync>;

#[derive(Default)]
struct State {
    decisions: VecDeque<Decision>,
    outputs: VecDeque<String>,
    approvals: Vec<ApprovalRequest>,
    reconciled: Vec<ApprovalRequest>,
    questions: Vec<QuestionRequest>,
    executed: Vec<ExternalCall>,
}

impl Person {
    /// Creates a person who approves every call.
    pub fn approving() -> Self {
        Self::with_rule(|_| Decision::Approve)
    }

    /// Creates a person who denies every call, with this reason.
    pub fn denying(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::with_rule(move |_| Decision::deny(reason.clone()))
    }

    /// Creates a person who approves every call, with the arguments changed by `edit`.
    pub fn editing(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::with_rule(move |request| {
            let mut arguments = request.arguments.clone();
            edit(&mut arguments);
            Decision::Edit { arguments }
        })
    }

    /// Creates a person who decides about calls by a rule. The list of [`Person::then`] answers questions of running tools, and
    /// requests about lost calls.
    pub fn with_rule(rule: impl Fn(&ApprovalRequest) -> Decision + Send + Sync + 'static) -> Self {
        Self { inner: Arc::new(Inner { rule: Some(Box::new(rule)), ..Inner::default() }) }
    }

    /// Creates a person who gives these decisions, one after the other, for any request.
    pub fn deciding(decisions: impl IntoIterator<Item = Decision>) -> Self {
        Self::default().then(decisions)
    }

    /// Adds decisions at the end of the list.
    pub fn then(self, decisions: impl IntoIterator<Item = Decision>) -> Self {
        lock(&self.inner.state).decisions.extend(decisions);
        self
    }

    /// Adds outputs (JSON) of external calls.
    pub fn executing<T: Into<String>>(self, outputs: impl IntoIterator<Item = T>) -> Self {
        lock(&self.inner.state).outputs.extend(outputs.into_iter().map(Into::into));
        self
    }

    /// Returns the approvals that were requested, oldest first.
    pub fn approvals(&self) -> Vec<ApprovalRequest> {
        lock(&self.inner.state).approvals.clone()
    }

    /// Returns the lost calls about which the person was asked.
    pub fn reconciled(&self) -> Vec<ApprovalRequest> {
        lock(&self.inner.state).reconciled.clone()
    }

    /// Returns the questions of running tools.
    pub fn questions(&self) -> Vec<QuestionRequest> {
        lock(&self.inner.state).questions.clone()
    }

    /// Returns the external calls that the person was asked to execute.
    pub fn executed(&self) -> Vec<ExternalCall> {
        lock(&self.inner.state).executed.clone()
    }
}

/// Returns a future of the next item of a list. It never completes if the list is empty.
fn next<T: Send + 'static>(list: &mut VecDeque<T>) -> BoxFuture<'static, T> {
    match list.pop_front() {
        Some(next) => Box::pin(ready(next)),
        None => Box::pin(pending()),
    }
}

impl Operator for Person {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let mut state = lock(&self.inner.state);
        state.approvals.push(request.clone());
        match &self.inner.rule {
            Some(rule) => {
                drop(state);
                Box::pin(ready(rule(request)))
            }
            None => next(&mut state.decisions),
        }
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let mut state = lock(&self.inner.state);
        state.executed.push(call.clone());
        let output = next(&mut state.outputs);
        Box::pin(async move { Some(output.await) })
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        let mut state = lock(&self.inner.state);
        state.questions.push(request.clone());
        next(&mut state.decisions)
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let mut state = lock(&self.inner.state);
        state.reconciled.push(request.clone());
        next(&mut state.decisions)
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.inner.state);
        out.debug_struct("Person")
            .field("decisions", &state.decisions)
            .field("outputs", &state.outputs)
            .finish_non_exhaustive()
    }
}

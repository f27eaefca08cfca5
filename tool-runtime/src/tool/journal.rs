//! Questions that a tool asks in the middle of its work, and steps that it takes only once.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use tool_run::tool::Answer;

use super::{Context, Failure, Progress, Question};

/// Where a call reports, and its questions and steps are kept: the run that it belongs to.
#[diagnostic::on_unimplemented(message = "`{Self}` keeps no journal of calls", label = "`Journal` is not implemented")]
pub trait Journal: Send + Sync {
    /// The tool has come further; must not block.
    fn report(&self, progress: Progress);

    /// Waits until whoever is told has room for more; `None` where there is room.
    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// The arguments as the caller wrote them, where validators have understood them otherwise since.
    fn given(&self) -> Option<&str> {
        None
    }

    /// The journal as it is, for whoever made it.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Asks somebody, and waits. A question that was answered when the call ran before is not asked again.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer, Failure>>;

    /// The number of the next step called `name`, and its result if it was taken when the call ran before.
    fn recorded(&self, name: &str) -> Option<Value>;

    /// Keeps that a step begins, before it does; `None` where nobody has to know. It is safe when the future ends.
    fn begin(&self, _name: &str) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        None
    }

    /// Keeps the result of a step; it is safe when the future ends.
    fn record(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>>;
}

impl Context {
    /// Asks the person behind the run, and waits for an answer of type `T`, for days if need be.
    ///
    /// When the program ends in between, the tool runs again from its start, in whatever process the run goes on, and gets
    /// the answers that were given already at once. What it does before the question must not matter twice, or be a
    /// [`Context::step`]; and it must ask the same questions again, in the same order.
    ///
    /// Fails when the person declines, nobody can be asked, or too much is asked.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(&self, question: impl Into<String>) -> Result<T, Failure> {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        match self.put(Question::ask(question, schema.into())).await? {
            Answer::Given(value) => Ok(serde_json::from_value(value)?),
            Answer::Approved => Err(Failure::new("the question was not answered")),
            Answer::Denied(reason) => Err(declined("the person did not answer", reason)),
        }
    }

    /// Asks the person behind the run for permission to go on, and waits, as [`Context::ask`] does.
    ///
    /// Fails when the person refuses, or nobody can be asked.
    pub async fn request_approval(&self, question: impl Into<String>) -> Result<(), Failure> {
        match self.put(Question::approval(question)).await? {
            Answer::Approved => Ok(()),
            Answer::Given(_) => Err(Failure::new("the permission was not given")),
            Answer::Denied(reason) => Err(declined("the person did not allow it", reason)),
        }
    }

    /// Does something that must not be done twice. Its result is kept in the run's log: when the call runs again, because
    /// its process was stopped, the result is there at once and `work` is dropped.
    ///
    /// Steps are told apart by their names; steps of one name by their order. A call that was stopped starts again by itself
    /// only where its tool is declared `resumable`, `idempotent` or `effect = read_only`. Otherwise a person is asked what came
    /// of it.
    ///
    /// Between the end of `work` and the moment when its result is kept there is a gap that no log can close:
    ///
    /// - Of a `resumable` tool the log also keeps that a step begins. A call that was stopped with a step begun and no result
    ///   of it does not start again by itself: a person is asked. An error of `work` is no result.
    /// - Of a tool that is `idempotent` or `effect = read_only` the log keeps the result only, so `work` can run again.
    ///
    /// A person may also start a call again. Then `work` runs again if it has no result: send `name` and the call's id
    /// ([`Context::call_id`]) as an idempotency key where the other side takes one.
    ///
    /// Fails when `work` does, or the step cannot be kept.
    pub async fn step<T, E>(&self, name: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        E: super::ToolError,
    {
        let journal = self.journal();
        if let Some(value) = journal.and_then(|journal| journal.recorded(name)) {
            return Ok(serde_json::from_value(value)?);
        }
        if let Some(begun) = journal.and_then(|journal| journal.begin(name)) {
            begun.await?;
        }
        let result = work.await.map_err(super::ToolError::into_failure)?;
        if let Some(journal) = journal {
            journal.record(name, serde_json::to_value(&result)?).await?;
        }
        Ok(result)
    }

    /// Asks the person behind the run what `question` says, and waits, as [`Context::ask`] does. For questions whose schema is
    /// only known at run time.
    ///
    /// Fails when nobody can be asked, or too much is asked.
    pub async fn put(&self, question: Question) -> Result<Answer, Failure> {
        match self.journal() {
            Some(journal) => journal.ask(question).await,
            None => Err(Failure::new("nobody can be asked")),
        }
    }
}

fn declined(what: &str, reason: Option<String>) -> Failure {
    match reason {
        None => Failure::new(what),
        Some(reason) => Failure::new(format!("{what}: {reason}")),
    }
}

impl std::fmt::Debug for dyn Journal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Journal")
    }
}

/// Where questions go; `None` where nobody listens.
pub(super) type Journals = Option<Arc<dyn Journal>>;

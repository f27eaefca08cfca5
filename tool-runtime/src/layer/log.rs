//! A log of every call.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::feedback::one_line;
use crate::tool::{CallError, CallFuture, Output};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that passes a [`CallRecord`] of each call to a function when the call ends. The record includes what the model does not
/// see, such as the cause of a failure.
///
/// A call that is dropped before its end has a record, too: [`CallError::TimedOut`] if it exceeded its time limit. Otherwise it has
/// [`CallError::Cancelled`], for example if its run was stopped. The function of a `blocking` tool may still run then. Such a
/// record may come shortly after the end of the run.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use std::{sync::{Arc, Mutex}, time::Duration};
/// use tool_runtime::{Agent, layer::CallLog, model::{ScriptedModel, Turn}, tool, toolset};
///
/// /// Waits for an answer that never comes.
/// #[tool(effect = read_only, timeout = "10ms")]
/// async fn wait() {
///     std::future::pending::<()>().await;
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let log = { let lines = lines.clone(); CallLog::new(move |call| lines.lock().unwrap().push(call.to_string())) };
/// let model = ScriptedModel::new([Turn::call("wait", "{}"), Turn::say("It did not answer.")]);
/// Agent::new(model).tools(toolset!(wait).layer(log)).run("Wait.").await.unwrap();
/// # while lines.lock().unwrap().is_empty() { tokio::task::yield_now().await }
/// assert!(lines.lock().unwrap()[0].starts_with("call_1_0 wait failed: the tool did not answer within 0.01 s ("));
/// # });
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CallLog<F> {
    sink: F,
}

/// A call that ended. `Display` writes one line without the arguments and the output, which may be confidential. The text of an
/// error can still quote arguments.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallRecord<'a> {
    /// The call.
    pub call: Invocation<'a>,
    /// The duration of the call.
    pub took: Duration,
    /// The result.
    pub result: &'a Result<Output, CallError>,
}

impl<F: Fn(CallRecord<'_>) + Send + Sync + 'static> CallLog<F> {
    /// Creates a log that calls `sink`, which must not block.
    pub fn new(sink: F) -> Self {
        Self { sink }
    }
}

impl<'a> CallRecord<'a> {
    /// Returns one line with arguments and output. Do not write it to logs that outsiders see.
    pub fn in_full(&self) -> impl fmt::Display + 'a {
        let Self { call, took, result } = *self;
        fmt::from_fn(move |out| {
            write!(out, "{} {} {} ", call.cx.call_id(), call.spec.name, one_line(call.arguments))?;
            match result {
                Ok(output) => match output.as_json() {
                    Some(json) => write!(out, "ok: {}", one_line(json))?,
                    None => write!(out, "ok: {}", one_line(&output.text()))?,
                },
                Err(error) => write!(out, "failed: {}", one_line(&error.for_log()))?,
            }
            write!(out, " ({} ms)", took.as_millis())
        })
    }
}

impl<F: Fn(CallRecord<'_>) + Send + Sync + 'static> Layer for CallLog<F> {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let entry = PendingRecord { sink: Some(&self.sink), call, started: Instant::now() };
            let result = next.run().await;
            entry.end(&result);
            result
        })
    }
}

/// The record of a call that has not ended. If it is dropped, so was the call.
struct PendingRecord<'a, F: Fn(CallRecord<'_>)> {
    sink: Option<&'a F>,
    call: Invocation<'a>,
    started: Instant,
}

impl<F: Fn(CallRecord<'_>)> PendingRecord<'_, F> {
    /// Returns the time limit that the call has exceeded: that of its tool, or that of a layer around this one.
    fn exceeded_limit(&self) -> Option<Duration> {
        let deadline = self.call.cx.deadline().filter(|deadline| *deadline <= Instant::now())?;
        let whole = deadline.saturating_duration_since(self.started).as_secs_f64() * 1000.0;
        let whole = Duration::try_from_secs_f64(whole.round() / 1000.0).unwrap_or_default();
        Some(self.call.spec.options.timeout.map_or(whole, |limit| limit.min(whole)))
    }

    fn end(mut self, result: &Result<Output, CallError>) {
        self.pass_on(result);
    }

    fn pass_on(&mut self, result: &Result<Output, CallError>) {
        if let Some(sink) = self.sink.take() {
            sink(CallRecord { call: self.call, took: self.started.elapsed(), result });
        }
    }
}

impl<F: Fn(CallRecord<'_>)> Drop for PendingRecord<'_, F> {
    fn drop(&mut self) {
        let error = self.exceeded_limit().map_or(CallError::Cancelled, |limit| CallError::TimedOut { limit });
        self.pass_on(&Err(error));
    }
}

impl fmt::Display for CallRecord<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} ", self.call.cx.call_id(), self.call.spec.name)?;
        match self.result {
            Ok(_) => out.write_str("ok")?,
            Err(error) => write!(out, "failed: {}", one_line(&error.for_log()))?,
        }
        write!(out, " ({} ms)", self.took.as_millis())
    }
}

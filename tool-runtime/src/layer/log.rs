//! A log of every call.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::feedback::one_line;
use crate::tool::{CallError, CallFuture, Output};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that passes a [`CallRecord`] of each finished call to a function. The record includes what the model does not see,
/// such as the cause of a failure.
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
            let started = Instant::now();
            let result = next.run().await;
            (self.sink)(CallRecord { call, took: started.elapsed(), result: &result });
            result
        })
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

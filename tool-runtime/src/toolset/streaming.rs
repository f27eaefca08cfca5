//! Tools of run time whose outputs come one after the other, and hooks of such tools.

use std::sync::Arc;

use futures_core::Stream;
use serde_json::Value;

use super::{NameError, RuntimeTool, RuntimeToolBuilder};
use crate::tool::{Context, Failure, InputHooks, Output, streamed};

impl RuntimeToolBuilder {
    /// Finishes a tool that runs here and gives its output bit by bit: each item of the stream is a preliminary output, and
    /// the last is the output. The call fails with the first error, and when the stream ends without an item.
    ///
    /// The stream is asked for the next item when the one before was shown, and dropped when the call is cancelled.
    ///
    /// Fails when the name is not `[A-Za-z0-9_-]{1,64}`.
    ///
    /// ```
    /// use futures_util::stream::{self, StreamExt as _};
    /// use serde_json::json;
    /// use tool_runtime::{Context, Toolset, toolset::RuntimeTool};
    ///
    /// let count = RuntimeTool::new("count", "Counts down from three.")
    ///     .streaming(|_, _| stream::iter((0..3).rev()).map(|n| Ok(json!({ "n": n }))))?;
    /// let tools = Toolset::new().with(count)?;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let output = tools.call("count", "{}", &Context::new("call_1")).await.unwrap();
    /// assert_eq!(output.as_json(), Some(r#"{"n":0}"#));
    /// # });
    /// # Ok::<(), tool_runtime::toolset::NameError>(())
    /// ```
    pub fn streaming<F, S>(self, handler: F) -> Result<RuntimeTool, NameError>
    where
        F: Fn(Value, Context) -> S + Send + Sync + 'static,
        S: Stream<Item = Result<Value, Failure>> + Send + 'static,
    {
        self.finish(Some(Box::new(move |arguments, cx| {
            let stream = handler(arguments, cx.clone());
            Box::pin(async move { streamed(stream, &cx, |item| Ok(Output::json(&item?)?)).await })
        })))
    }

    /// Sets who is told of the arguments of a call while the model writes them.
    pub fn hooks(mut self, hooks: impl InputHooks + 'static) -> Self {
        self.hooks = Some(Arc::new(hooks));
        self
    }
}

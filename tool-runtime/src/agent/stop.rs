//! A prompt that is given up.

use std::pin::pin;

use super::{AgentError, Reply, Session};
use crate::tool::{Cancellation, Context};

impl Session {
    /// Says something and waits for the answer, until `stop` is ready: then what runs is cancelled, as by the cancellation of
    /// the agent's context, and it fails with [`AgentError::Cancelled`]. The conversation stays whole, and the next prompt goes
    /// on with it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::{Agent, AgentError, model::{FunctionModel, ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let slow = FunctionModel::streaming(|_| futures_util::stream::pending());
    /// let mut session = Agent::new(slow).session();
    /// let stop = tokio::time::sleep(Duration::from_millis(1));
    /// assert!(matches!(session.send_until("Hello?", stop).await, Err(AgentError::Cancelled)));
    /// # });
    /// ```
    pub async fn send_until(
        &mut self,
        prompt: impl Into<String>,
        stop: impl Future<Output = ()>,
    ) -> Result<Reply, AgentError> {
        let (before, signal) = (self.agent.context.clone(), Cancellation::new());
        let outer = before.cancellation().clone();
        let lent = Lent { session: self, before };
        lent.session.agent.context = lent.before.clone().with_cancellation(signal.clone());
        let mut send = pin!(lent.session.send(prompt));
        tokio::select! {
            biased;
            reply = &mut send => return reply,
            () = stop => {}
            () = outer.cancelled() => {}
        }
        signal.cancel();
        send.await
    }
}

/// A session whose agent has another context for a while.
struct Lent<'a> {
    session: &'a mut Session,
    before: Context,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.session.agent.context = std::mem::take(&mut self.before);
    }
}

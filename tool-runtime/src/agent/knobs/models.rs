//! Which models are asked, how, and what happens when one fails.

use std::{sync::Arc, time::Duration};

use super::super::Agent;
use crate::model::{Model, ModelError, ModelErrorKind, Settings};

/// How long a model that failed is left alone before it is asked again for the first time, unless it said so itself; then
/// twice as long each time.
pub const DEFAULT_WAIT: Duration = Duration::from_millis(250);

/// Longer than this nobody waits for a model, whatever it asks for.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What is done after a failure of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Next {
    /// It is asked again after this time.
    Again(Duration),
    /// The model behind it is asked.
    Over,
    /// The run stops.
    Stop,
}

impl Agent {
    /// Sets sampling and size of the model's turns.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a model that takes over when those before it have failed, until the next prompt.
    ///
    /// A model that is refused, not configured or not authorised is given up at once; one that is unavailable, limits the
    /// rate, is too slow or breaks the protocol, when it was asked again in vain ([`Agent::model_retries`]). What the failed
    /// turn said is dropped, except for calls that were complete and started early: those are kept, answered, and never made
    /// twice.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ModelError, ModelErrorKind, ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let down = ScriptedModel::new([ModelError::new(ModelErrorKind::Refused, "no such model")]);
    /// let agent = Agent::new(down).fallback(ScriptedModel::new([Turn::say("Hello.")]));
    /// assert_eq!(agent.run("Hi").await.unwrap().text, "Hello.");
    /// # });
    /// ```
    pub fn fallback(mut self, model: impl Model + 'static) -> Self {
        let before = self.knobs.fallbacks.iter().cloned();
        self.knobs.fallbacks = before.chain([Arc::new(model) as Arc<dyn Model>]).collect();
        self
    }

    /// Sets how often a model is asked again whose turn failed in a way that may pass: it was unavailable, limited the rate,
    /// was too slow, or broke off in the middle. Not at all, unless it is set: a provider over HTTP retries requests that were
    /// not answered by itself.
    ///
    /// All tries of a run, of turns and of calls, come out of [`Limits::retries`](crate::run::Limits::retries).
    pub fn model_retries(mut self, retries: u32) -> Self {
        self.knobs.again = retries;
        self
    }

    /// The model number `at`: the agent's own is 0, then come the fallbacks.
    pub(in crate::agent) fn model_at(&self, at: usize) -> &Arc<dyn Model> {
        at.checked_sub(1).and_then(|at| self.knobs.fallbacks.get(at)).unwrap_or(&self.model)
    }

    /// What is done when the model number `at` failed for the `tries`th time in a row.
    pub(in crate::agent) fn after(&self, error: &ModelError, at: usize, tries: u32) -> Next {
        let may_pass = error.is_transient() || error.kind() == ModelErrorKind::Protocol;
        let wait = error.wait().unwrap_or(DEFAULT_WAIT * 2u32.saturating_pow(tries.saturating_sub(1).min(10)));
        if may_pass && tries <= self.knobs.again && wait <= LONGEST_WAIT {
            return Next::Again(wait);
        }
        let has_next = at < self.knobs.fallbacks.len();
        if has_next && error.kind() != ModelErrorKind::Script { Next::Over } else { Next::Stop }
    }
}

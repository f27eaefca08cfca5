//! The reply to a prompt.

use crate::message::Usage;
use crate::run::{Phase, Run};
use tool_run::run::TurnUsage;

/// The reply to a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The text of the model's last turn.
    pub text: String,
    /// How many turns it took.
    pub steps: usize,
    /// Tokens used by all of them, and by those that failed.
    pub usage: Usage,
    /// The usage of each turn since the run was last prompted or continued, failed ones included, with the model's name.
    pub turns: Vec<TurnUsage>,
    /// The phase of the run: [`Phase::Finished`] when the model had no more calls to make, [`Phase::Suspended`] when it waits
    /// for somebody who is not there ([`Session::interrupts`](super::Session::interrupts)), or why it was stopped.
    pub phase: Phase,
}

impl Reply {
    /// Tokens used by model, in the order in which they were asked first. A model whose name is not known has an empty one.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn, Usage}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let usage = Usage { input_tokens: 7, ..Usage::default() };
    /// let reply = Agent::new(ScriptedModel::new([Turn::say("Hi.").with_usage(usage)])).run("Hello").await.unwrap();
    /// assert_eq!(reply.by_model(), [("scripted", usage)]);
    /// # });
    /// ```
    pub fn by_model(&self) -> Vec<(&str, Usage)> {
        let mut models: Vec<(&str, Usage)> = Vec::new();
        for turn in &self.turns {
            let name = turn.model.as_deref().unwrap_or_default();
            match models.iter_mut().find(|(known, _)| *known == name) {
                Some((_, used)) => *used += turn.usage,
                None => models.push((name, turn.usage)),
            }
        }
        models
    }

    /// Returns the reply of `run`, which is at `phase`.
    pub(super) fn of(run: &Run, phase: Phase) -> Self {
        let turns = run.turns().to_vec();
        Self { text: run.last_text(), steps: run.steps() as usize, usage: run.usage(), turns, phase }
    }
}

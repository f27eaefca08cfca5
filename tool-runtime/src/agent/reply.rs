//! What comes of a prompt.

use std::fmt;

use crate::message::{FinishReason, Usage};
use crate::run::{Phase, Run, StopReason, TurnUsage};

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said in its last turn.
    pub text: String,
    /// How many turns it took.
    pub steps: usize,
    /// Tokens used by all of them, and by those that failed.
    pub usage: Usage,
    /// What each turn used since the run was last prompted or continued, failed ones included, with the model's name.
    pub turns: Vec<TurnUsage>,
    /// Why the run ended.
    pub stopped: Stopped,
}

/// Why a run ended, or rests.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// The model had no more calls to make.
    Done,
    /// The run waits for somebody who is not there; see [`Session::obligations`](super::Session::obligations).
    Suspended,
    /// The model wanted to go on, and had used all its steps.
    StepLimit,
    /// The model's last turn was cut; none of its calls ran.
    Cut(FinishReason),
    /// Somebody denied a call, and the run was to stop then.
    Denied,
    /// Somebody wanted it to stop when its step had ended: [`Handle::stop`](super::Handle::stop).
    Requested,
    /// A limit on the whole run was reached.
    OverBudget(String),
    /// It took longer than it may: which of the limits it was.
    TimedOut(String),
    /// A condition of [`Agent::stop_when`](super::Agent::stop_when) holds, called this.
    Condition(String),
}

impl fmt::Display for Stopped {
    /// The reason in a few words, such as `no steps are left`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => out.write_str("done"),
            Self::Suspended => out.write_str("it waits for somebody"),
            Self::StepLimit => out.write_str("no steps are left"),
            Self::Cut(finish) => write!(out, "the model was cut off ({finish:?})"),
            Self::Denied => out.write_str("a call was denied"),
            Self::Requested => out.write_str("somebody wanted it to stop"),
            Self::OverBudget(limit) | Self::TimedOut(limit) | Self::Condition(limit) => out.write_str(limit),
        }
    }
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

    /// What `run` has come to.
    pub(super) fn of(run: &Run, phase: Phase) -> Self {
        let stopped = match phase {
            Phase::Suspended | Phase::Generating | Phase::Acting => Stopped::Suspended,
            Phase::Stopped(StopReason::StepLimit) => Stopped::StepLimit,
            Phase::Stopped(StopReason::Cut(finish)) => Stopped::Cut(finish),
            Phase::Stopped(StopReason::Denied) => Stopped::Denied,
            Phase::Stopped(StopReason::Requested) => Stopped::Requested,
            Phase::Stopped(StopReason::OverBudget(limit)) => Stopped::OverBudget(limit),
            Phase::Stopped(StopReason::TimedOut(limit)) => Stopped::TimedOut(limit),
            Phase::Stopped(StopReason::Condition(name)) => Stopped::Condition(name),
            _ => Stopped::Done,
        };
        let turns = run.turns().to_vec();
        Self { text: run.last_text(), steps: run.steps() as usize, usage: run.usage(), turns, stopped }
    }
}

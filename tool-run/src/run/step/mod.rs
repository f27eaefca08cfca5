//! Computes the entries and actions that follow from an input. The computation uses no clock and no randomness, never waits,
//! and only reads the run.

mod calls;
mod decide;
mod turn;

use std::{collections::HashSet, sync::Arc};

use crate::run::{
    Action, CallId, InterruptKind, LogEntry, Refusal, Run, SharedLimits, Stage, StepInput, Timestamp,
    state::{Activity, STAGES, TurnEnd},
};
use crate::tool::TouchedResources;

pub use turn::pending_actions;

/// Returns the entries that follow from `input`, and the actions to take when the entries are in the log.
///
/// The cost does not grow with the run, only with the calls of the present turn. Some inputs that come too late, such as the
/// end of a cancelled call, have no effect. The run refuses others. The driver ignores the refusal, unless a caller waits for
/// it.
///
/// Fails if the run refuses the input. Then the input has no effect.
pub fn step(run: &Run, input: StepInput) -> Result<(Vec<LogEntry>, Vec<Action>), Refusal> {
    step_into(run, input, (Vec::new(), Vec::new()), None)
}

/// Computes the same as [`step`], and fails like it, but fills the given empty lists, so that a driver can reuse memory.
///
/// For the run inside of a call, `outer` is the part of the limits that the runs around it have left.
pub fn step_into(
    run: &Run,
    input: StepInput,
    lists: (Vec<LogEntry>, Vec<Action>),
    outer: Option<&SharedLimits>,
) -> Result<(Vec<LogEntry>, Vec<Action>), Refusal> {
    let mut draft = Draft::new(run, lists, time_of(&input));
    draft.outer = outer.copied();
    match input {
        StepInput::Prompt(prompt) => draft.accept_prompt(prompt)?,
        StepInput::Continue { by, .. } => draft.continue_run(&by)?,
        StepInput::Offered { tools } => draft.record_offer(tools)?,
        StepInput::Called { index, provider_id, name, arguments } => {
            draft.record_call(index, provider_id, name, arguments)?;
        }
        StepInput::TurnEnded { parts, finish, usage, model, .. } => {
            draft.record_turn_end(parts, finish, usage, model)?;
        }
        StepInput::TurnFailed { error, again, usage, model, .. } => {
            draft.record_turn_failure(error, again, usage, model)?;
        }
        StepInput::Written { turn, text } => draft.record_text(turn, text)?,
        StepInput::Checked { call, checked, .. } => draft.record_check(&call, checked),
        StepInput::Decide { interrupt, decision, by, .. } => draft.decide(interrupt, *decision, by)?,
        StepInput::Ended { call, attempt, outcome, .. } => draft.end_or_retry(&call, attempt, outcome),
        StepInput::Withdrawn { call, attempt, error, .. } => draft.withdraw(&call, attempt, error),
        StepInput::Asked { call, attempt, question, .. } => draft.open_question(&call, attempt, question)?,
        StepInput::AskedInside { call, attempt, tool, interrupt, feedback, .. } => {
            draft.open_inner_interrupt(&call, attempt, InterruptKind::Inner { tool, interrupt, feedback })?;
        }
        StepInput::DurableStepStarted { call, attempt, name } => draft.record_step_start(call, attempt, name)?,
        StepInput::DurableStepEnded { call, attempt, name, value, spent } => {
            draft.record_step_end(call, attempt, name, value, spent)?;
        }
        StepInput::Tick { .. } => draft.end_expired(),
        StepInput::Recover { .. } => draft.recover(),
        StepInput::Repaired { call, name, arguments, by, usage, model } => {
            draft.record_repair(call, name, arguments, by, (usage, model))?;
        }
        StepInput::StopRequested { by, .. } => draft.stop_after_step(by)?,
        StepInput::Title { title, by, .. } => draft.set_title(title, by)?,
        StepInput::Cancel { by, .. } => draft.cancel(&by)?,
        StepInput::Stop { reason, .. } => draft.stop_now(reason),
    }
    Ok((draft.log, draft.actions))
}

/// Returns the time of `input`. If the input has none, no entry or action that follows from it needs a time.
fn time_of(input: &StepInput) -> Timestamp {
    match input {
        StepInput::Prompt(prompt) => prompt.at,
        StepInput::Continue { at, .. }
        | StepInput::TurnEnded { at, .. }
        | StepInput::TurnFailed { at, .. }
        | StepInput::Checked { at, .. }
        | StepInput::Decide { at, .. }
        | StepInput::Ended { at, .. }
        | StepInput::Withdrawn { at, .. }
        | StepInput::Asked { at, .. }
        | StepInput::AskedInside { at, .. }
        | StepInput::Tick { at }
        | StepInput::Recover { at }
        | StepInput::StopRequested { at, .. }
        | StepInput::Title { at, .. }
        | StepInput::Stop { at, .. }
        | StepInput::Cancel { at, .. } => *at,
        StepInput::Offered { .. }
        | StepInput::Called { .. }
        | StepInput::Written { .. }
        | StepInput::DurableStepStarted { .. }
        | StepInput::DurableStepEnded { .. }
        | StepInput::Repaired { .. } => Timestamp::default(),
    }
}

/// A run, with the entries that are about to be logged, and the actions that follow from them.
pub struct Draft<'a> {
    pub run: &'a Run,
    pub now: Timestamp,
    pub log: Vec<LogEntry>,
    pub actions: Vec<Action>,
    /// The call whose stage changed last. It has its own field, because most inputs change no other call.
    latest: Option<(usize, Stage)>,
    /// The calls whose stages changed before that one.
    changed: Vec<(usize, Stage)>,
    /// For each stage, the number of calls of the turn that will be at it.
    stages: [u32; STAGES],
    pub turn_end: Option<TurnEnd>,
    /// The position of a call whose check is part of the input, so that it may start now.
    pub fresh: Option<usize>,
    /// The position of a call that this input checks for the first time, and that runs alone. The run does not have its tool
    /// yet.
    pub alone: Option<usize>,
    /// The position and the resources of a call that this input accepts or edits.
    pub touched: Option<(usize, Option<Arc<TouchedResources>>)>,
    /// The number of calls that this input adds to the turn, and the number of these that have ended.
    pub new_calls: usize,
    pub new_done: usize,
    pub minted: HashSet<CallId, foldhash::fast::RandomState>,
    /// Set if this input denies a call of the turn.
    pub denied: bool,
    /// The part of the limits that the runs around this one have left.
    pub outer: Option<SharedLimits>,
}

impl<'a> Draft<'a> {
    pub fn new(run: &'a Run, (log, actions): (Vec<LogEntry>, Vec<Action>), now: Timestamp) -> Self {
        let turn_end = match &run.activity {
            Activity::Acting(end) => Some(end.clone()),
            _ => None,
        };
        Self {
            run,
            now,
            log,
            actions,
            latest: None,
            changed: Vec::new(),
            stages: run.stages,
            turn_end,
            fresh: None,
            alone: None,
            touched: None,
            new_calls: 0,
            new_done: 0,
            minted: HashSet::default(),
            denied: false,
            outer: None,
        }
    }
}

//! Records inputs: each entry that follows from an input is applied to the run at once. This uses no clock and no randomness, and
//! never waits.

mod calls;
mod decide;
mod turn;

use std::{collections::VecDeque, fmt};

use crate::run::{Action, CorruptLog, InterruptKind, LogEntry, LogInput, Refusal, Run, SharedLimits, Timestamp};

pub use turn::pending_actions;

/// Records `input` in the run. Returns the new entries of its log, and the actions to take when the entries are stored.
///
/// Each entry is applied ([`Run::apply`]) before the next one is decided about. The cost does not grow with the run, only with
/// the calls of the present turn. Some inputs that come too late, such as the end of a cancelled call, have no effect. The run
/// refuses others. The driver ignores the refusal, unless a caller waits for it.
///
/// Fails if the run refuses the input. Then the run has not changed. Fails with [`InputError::Inconsistent`] if the run does not
/// accept an entry that followed from the input, or if this happened before. Then the run answers every further input and
/// entry with this error, and has to be loaded again.
pub fn advance(run: &mut Run, input: LogInput) -> Result<(Vec<LogEntry>, Vec<Action>), InputError> {
    let (mut log, mut actions) = (Vec::new(), VecDeque::new());
    advance_within(run, input, AdvanceOptions::default(), &mut log, &mut actions)?;
    Ok((log, actions.into()))
}

/// The options of a driver for one input.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdvanceOptions {
    /// For the run inside of a call, the part of the limits that the runs around it have left.
    pub outer: Option<SharedLimits>,
    /// Set if the driver decides between two turns whether the run goes on. Then this input starts no turn after the calls of
    /// another one ([`Run::is_between_turns`]). The next input does.
    pub pauses_between_turns: bool,
}

/// Records `input` like [`advance`], and fails like it, but adds the entries and the actions to lists of the driver. After an
/// error, the lists are as they were.
pub fn advance_within(
    run: &mut Run,
    input: LogInput,
    options: AdvanceOptions,
    log: &mut Vec<LogEntry>,
    actions: &mut VecDeque<Action>,
) -> Result<(), InputError> {
    if let Some(corrupt) = &run.inconsistent {
        return Err(InputError::Inconsistent(CorruptLog::clone(corrupt)));
    }
    let (rev, before) = (run.rev, (log.len(), actions.len()));
    let now = time_of(&input);
    let mut advance = Advance { run, now, log, actions, fresh: None, options, failed: None };
    let refused = advance.record(input);
    let mut failed = advance.failed.take();
    if refused.is_err() && log.len() > before.0 && failed.is_none() {
        let reason = "the input was refused after this entry".to_owned();
        failed = log.last().map(|entry| CorruptLog { rev: run.rev, entry: entry.name(), reason });
    }
    if refused.is_err() || failed.is_some() {
        log.truncate(before.0);
        actions.truncate(before.1);
    }
    match failed {
        Some(corrupt) => {
            run.rev = rev;
            run.inconsistent = Some(Box::new(corrupt.clone()));
            Err(InputError::Inconsistent(corrupt))
        }
        None => refused.map_err(InputError::Refused),
    }
}

/// The error of an input that was not recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum InputError {
    /// The run refuses the input, and has not changed.
    Refused(Refusal),
    /// The run does not accept an entry that followed from the input. It has a part of the input's entries, so it cannot be used
    /// any more.
    Inconsistent(CorruptLog),
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(out),
            Self::Inconsistent(corrupt) => corrupt.fmt(out),
        }
    }
}

impl std::error::Error for InputError {}

/// Returns the time of `input`. If the input has none, no entry or action that follows from it needs a time.
fn time_of(input: &LogInput) -> Timestamp {
    match input {
        LogInput::Prompt(prompt) | LogInput::CallFromOutside { prompt, .. } => prompt.at,
        LogInput::Continue { at, .. }
        | LogInput::TurnEnded { at, .. }
        | LogInput::TurnFailed { at, .. }
        | LogInput::Checked { at, .. }
        | LogInput::Decide { at, .. }
        | LogInput::Ended { at, .. }
        | LogInput::Withdrawn { at, .. }
        | LogInput::Asked { at, .. }
        | LogInput::AskedInside { at, .. }
        | LogInput::Tick { at }
        | LogInput::Recover { at }
        | LogInput::AddMessage { at, .. }
        | LogInput::HandOver { at, .. }
        | LogInput::SummaryFailed { at, .. }
        | LogInput::StopRequested { at, .. }
        | LogInput::Title { at, .. }
        | LogInput::Stop { at, .. }
        | LogInput::Cancel { at, .. } => *at,
        LogInput::Offered { .. }
        | LogInput::Called { .. }
        | LogInput::Written { .. }
        | LogInput::Summarized { .. }
        | LogInput::DurableStepStarted { .. }
        | LogInput::DurableStepEnded { .. }
        | LogInput::Repaired { .. } => Timestamp::default(),
    }
}

/// An input that is being recorded: the run, the input's entries so far, and the actions that follow from them.
struct Advance<'a> {
    run: &'a mut Run,
    now: Timestamp,
    log: &'a mut Vec<LogEntry>,
    actions: &'a mut VecDeque<Action>,
    /// The position of a call whose check is part of the input, so that it may start now.
    fresh: Option<usize>,
    options: AdvanceOptions,
    /// Set if the run did not accept an entry. Then no further entry counts.
    failed: Option<CorruptLog>,
}

impl Advance<'_> {
    /// Fails only before the first entry.
    fn record(&mut self, input: LogInput) -> Result<(), Refusal> {
        match input {
            LogInput::Prompt(prompt) => self.accept_prompt(prompt)?,
            LogInput::CallFromOutside { prompt, call } => self.accept_call(prompt, call)?,
            LogInput::Continue { by, answer, .. } => self.continue_run(&by, answer)?,
            LogInput::Offered { tools } => self.record_offer(tools)?,
            LogInput::Called { index, provider_id, name, arguments } => {
                self.record_call(index, provider_id, name, arguments)?;
            }
            LogInput::TurnEnded { parts, finish, usage, model, .. } => {
                self.record_turn_end(parts, finish, usage, model)?;
            }
            LogInput::TurnFailed { error, again, usage, model, .. } => {
                self.record_turn_failure(error, again, usage, model)?;
            }
            LogInput::Written { turn, text } => self.record_text(turn, text)?,
            LogInput::Checked { call, checked, .. } => self.record_check(&call, checked),
            LogInput::Decide { interrupt, decision, by, .. } => self.decide(interrupt, *decision, by)?,
            LogInput::Ended { call, attempt, outcome, handover, .. } => {
                self.end_or_retry(&call, attempt, outcome, handover);
            }
            LogInput::Withdrawn { call, attempt, error, .. } => self.withdraw(&call, attempt, error),
            LogInput::Asked { call, attempt, question, .. } => self.open_question(&call, attempt, question)?,
            LogInput::AskedInside { call, attempt, tool, interrupt, feedback, .. } => {
                self.open_inner_interrupt(&call, attempt, InterruptKind::Inner { tool, interrupt, feedback })?;
            }
            LogInput::DurableStepStarted { call, attempt, name } => self.record_step_start(call, attempt, name)?,
            LogInput::DurableStepEnded { call, attempt, name, value, spent } => {
                self.record_step_end(call, attempt, name, value, spent)?;
            }
            LogInput::Tick { .. } => self.end_expired(),
            LogInput::Recover { .. } => self.recover(),
            LogInput::Repaired { call, name, arguments, by, usage, model } => {
                self.record_repair(call, name, arguments, by, (usage, model))?;
            }
            LogInput::AddMessage { message, reason, by, .. } => self.add_from_application(message, reason, by)?,
            LogInput::HandOver { to, by, .. } => self.hand_over(to, by)?,
            LogInput::Summarized { summary, reason, usage, model } => {
                self.record_summary(summary, reason, (usage, model))?;
            }
            LogInput::SummaryFailed { error, at } => {
                self.check_asked()?;
                self.push(LogEntry::SummaryFailed { error, at });
            }
            LogInput::StopRequested { by, .. } => self.stop_after_step(by)?,
            LogInput::Title { title, by, .. } => self.set_title(title, by)?,
            LogInput::Cancel { by, .. } => self.cancel(&by)?,
            LogInput::Stop { reason, .. } => self.stop_now(reason),
        }
        Ok(())
    }

    /// Applies an entry to the run, and adds it to the log.
    fn push(&mut self, entry: LogEntry) {
        if self.failed.is_none() {
            self.failed = self.run.apply(&entry).err();
            self.log.push(entry);
        }
    }
}

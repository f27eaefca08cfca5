//! Entries that another process added to the log, reported as its driver reported them, and the pieces of its model's turns.

use super::{Observers, reported::ReportedTurn};
use crate::agent::{Event, pieces::Piece};
use crate::run::{Phase, Run};
use tool_run::run::LogEntry;

/// The entries of others that are not reported yet. The log has the entries of an early call before that of its turn, but observers
/// expect the turn's text first. So the call's entries are held until the turn's entry comes.
#[derive(Default)]
pub struct ForeignEntries {
    held: Vec<LogEntry>,
    /// Set if a turn has started, and its start is not reported. If this process asks the model itself, it reports the start then.
    has_begun: bool,
    /// The part of the turn that was reported already.
    shown: ReportedTurn,
}

impl ForeignEntries {
    /// Creates the queue for a process that begins to follow `run`.
    pub fn following(run: &Run) -> Self {
        Self { has_begun: run.phase() == Phase::Generating, ..Self::default() }
    }

    /// Reports a piece of the model's turn, if it continues what was reported of that turn.
    pub fn show(&mut self, run: &Run, piece: &Piece<'_>, observers: &Observers) {
        if !piece.is_of(run) || piece.asked < self.shown.asked {
            return;
        }
        if piece.asked > self.shown.asked {
            // Another process has begun the turn again.
            if !piece.begins() {
                return;
            }
            self.give_up(observers);
            self.shown = ReportedTurn::of(piece.asked);
        }
        if let Some(added) = self.shown.added(piece) {
            self.begin(run, observers);
            self.shown.add(piece, added, observers);
        }
    }

    /// Reports entries. Of a turn, it reports only the content that was not reported from pieces, part by part.
    pub fn publish(&mut self, run: &Run, entries: Vec<LogEntry>, observers: &mut Observers) {
        for entry in entries {
            let is_of_turn = matches!(entry, LogEntry::Called { .. }) || !self.held.is_empty();
            match &entry {
                LogEntry::TurnStarted { .. } => {
                    self.flush(run, observers);
                    self.has_begun = true;
                }
                LogEntry::TurnEnded { parts, finish, usage, .. } => {
                    if !self.shown.agrees_with(parts, &self.held) {
                        self.give_up(observers);
                    }
                    self.begin(run, observers);
                    for (number, part) in parts.iter().enumerate() {
                        self.shown.report_rest(number, part, &self.held, observers);
                    }
                    self.shown = ReportedTurn::default();
                    observers.report(Event::TurnEnded { reason: finish, usage: *usage });
                    observers.publish(run, &std::mem::take(&mut self.held));
                }
                LogEntry::Written { text } => {
                    // After a stop, the text comes too late for the response.
                    if run.phase() == Phase::Generating {
                        self.begin(run, observers);
                        self.shown.report_text(text, observers);
                    }
                    continue;
                }
                LogEntry::TurnFailed { .. } => {
                    self.begin(run, observers);
                    self.flush(run, observers);
                    self.shown = ReportedTurn::default();
                }
                _ if is_of_turn => {
                    self.held.push(entry);
                    continue;
                }
                _ => {}
            }
            observers.publish(run, &[entry]);
        }
    }

    /// Reports the remaining entries of the driver that has left `run`, before this process takes over.
    pub fn take_over(&mut self, run: &Run, observers: &mut Observers) {
        self.flush(run, observers);
        // If the turn has calls, an entry of this process says that it failed. Otherwise the model is just asked again.
        if run.phase() == Phase::Generating && run.current_calls().is_empty() {
            self.give_up(observers);
        }
    }

    /// Reports the entries of calls whose turn does not come any more.
    pub fn flush(&mut self, run: &Run, observers: &mut Observers) {
        if self.held.is_empty() {
            return;
        }
        self.begin(run, observers);
        for entry in &self.held {
            if let LogEntry::Called { call, name, arguments, .. } = entry {
                self.shown.report_call(call, name, arguments, observers);
            }
        }
        observers.publish(run, &std::mem::take(&mut self.held));
    }

    /// Reports that the shown part of the turn is void, and that it begins again.
    fn give_up(&mut self, observers: &Observers) {
        if std::mem::take(&mut self.shown).is_begun() {
            observers.report(Event::TurnFailed { error: "another process has begun the turn again", again: true });
            self.has_begun = true;
        }
    }

    /// Reports the start of a turn, before its first piece.
    fn begin(&mut self, run: &Run, observers: &Observers) {
        if std::mem::take(&mut self.has_begun) {
            observers.report(Event::StepStarted { step: run.steps() as usize });
        }
    }
}

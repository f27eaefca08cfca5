//! What happened, on its way into the run.

use super::{Driver, SOME};
use crate::run::{Effect, Event, Refusal, step_into};

impl Driver<'_> {
    /// Tells the run what happened. What follows waits in `looks` and `effects`.
    pub(super) fn feed(&mut self, event: Event) -> Result<(), Refusal> {
        let (mut log, mut effects) = step_into(&self.kept.run, event, std::mem::take(&mut self.lists))?;
        if let Some(rest) = self.next_turn(&log) {
            // What the application says of the run so far, it says before the next turn begins.
            let mut rest = log.split_off(rest);
            self.kept.add(&mut log);
            match self.stop_instead() {
                Some((mut log, others)) => {
                    effects.retain(|effect| *effect != Effect::CallModel);
                    effects.extend(others);
                    self.kept.add_to(&mut log);
                }
                None => self.kept.add_to(&mut rest),
            }
        } else {
            self.kept.add(&mut log);
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Inspect(call) => self.looks.push_back(call),
                effect => self.effects.push_back(effect),
            }
        }
        if log.capacity() <= SOME && effects.capacity() <= SOME {
            self.lists = (log, effects);
        }
        Ok(())
    }

    /// The same for what may come too late: then it means nothing any more.
    pub(super) fn feed_late(&mut self, event: Event) {
        let _ = self.feed(event);
    }
}

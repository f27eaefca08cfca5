//! The steps of an answer: a turn of the model each.

use super::{Chunk, UiStream};

/// Where the answer is between its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    None,
    /// Begun, and nothing came of it yet.
    Due,
    Open,
    /// Open, and what came of it is void: the next step goes on in its place.
    Void,
}

impl UiStream {
    pub(super) fn start_step(&mut self, out: &mut Vec<u8>) {
        if self.step == Step::Void {
            self.step = Step::Open;
        } else {
            self.finish_step(out);
            self.step = Step::Due;
        }
        self.step_calls = self.calls.len();
    }

    pub(super) fn open_step(&mut self, out: &mut Vec<u8>) {
        if self.step == Step::Due {
            self.frame(&Chunk::StartStep {}, out);
        }
        if self.step != Step::None {
            self.step = Step::Open;
        }
    }

    /// Ends the step, and not the answer.
    pub(super) fn leave(&mut self, out: &mut Vec<u8>) {
        self.finish_step(out);
    }

    pub(super) fn finish_step(&mut self, out: &mut Vec<u8>) {
        self.close_text(out);
        if matches!(self.step, Step::Open | Step::Void) {
            self.frame(&Chunk::FinishStep {}, out);
        }
        self.step = Step::None;
    }

    /// What came of the step at hand is void, and clients forget it.
    pub(super) fn forget_step(&mut self, out: &mut Vec<u8>) {
        (self.said, self.has_calls) = (None, self.step_calls > 0);
        if self.step == Step::Open {
            self.frame(&Chunk::ResetStep {}, out);
            self.step = Step::Void;
        }
    }
}

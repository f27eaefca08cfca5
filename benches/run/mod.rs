//! The run: its state machine, parallel calls, and waiting calls.

pub(crate) mod parallel;
mod parked;
mod step;

use crate::report::Report;

/// Prints the targets of the run.
pub(crate) fn measure(report: &mut Report) {
    step::measure(report);
    parallel::measure(report);
    parked::measure(report);
}

//! The run: its state machine, calls side by side, and calls that wait.

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

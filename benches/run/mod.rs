//! The cost of a run: its state machine, parallel calls, and the memory of waiting calls.

pub(crate) mod parallel;
mod parked;
mod step;

use crate::report::Report;

/// Measures runs, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    step::measure(report);
    parallel::measure(report);
    parked::measure(report);
}

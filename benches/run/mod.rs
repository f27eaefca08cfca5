//! The cost of a run: its state machine, parallel calls, and the memory of waiting calls.

mod advance;
pub(crate) mod parallel;
mod parked;

use crate::report::Report;

/// Measures runs, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    advance::measure(report);
    parallel::measure(report);
    parked::measure(report);
}

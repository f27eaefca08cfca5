//! Costs that must not grow with what a run, a session or a server already has.

mod parallel;
mod session;
mod tasks;
mod tools;

use crate::report::Report;

/// Measures growth, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    session::measure(report);
    tools::measure(report);
    parallel::measure(report);
    tasks::measure(report);
}

//! x
use crate::report::Report;
pub(crate) fn measure(_report: &mut Report) {}

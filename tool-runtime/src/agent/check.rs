//! Edited arguments, tried before anything is decided.

use std::fmt;

use serde_json::Value;

use super::{ApprovalRequest, Decision, driver::in_time};
use crate::feedback::Rejection;
use crate::run::{Inspector, Reading, Shown};
use crate::tool::Context;

/// What reads them.
#[derive(Clone)]
pub(super) struct Check {
    pub(super) inspector: Inspector,
    pub(super) tool: String,
    pub(super) cx: Context,
}

impl ApprovalRequest {
    /// What the call would be with these arguments: as the tool's own decoder and validators read them, corrected where they
    /// correct. So a person sees what they allow before they do.
    ///
    /// Fails with what is wrong with them. Nothing is decided either way; [`Decision::Edit`] checks again.
    pub async fn check(&self, arguments: &Value) -> Result<Shown, Rejection> {
        let Check { inspector, tool, cx } = &self.check;
        let edit = Decision::Edit { arguments: arguments.clone() };
        let read = match inspector.read_edit(tool, &self.obligation, &edit, cx) {
            Some(Reading::Asking(asking)) => in_time(inspector.tools(), tool, asking).await,
            Some(Reading::Done(read)) => read,
            None => return Shown::new(&self.spec, &arguments.to_string(), &[]),
        };
        read.shown(&self.spec)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Check").field("tool", &self.tool).finish_non_exhaustive()
    }
}

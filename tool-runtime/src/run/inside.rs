//! What waits inside of a call, where the call is a run of its own: what it is about, and whether a decision fits.

use std::sync::Arc;

use serde_json::Value;

use super::inspector::{check_output, fits, invalid};
use super::reading::Read;
use super::{Decision, Obligation, ObligationKind, Refusal};
use crate::tool::{CallError, DynTool, Output};
use crate::toolset::Toolset;

impl Obligation {
    /// What is waited for in the end: the obligation inside of this one, where it is that of a run inside of the call; or
    /// else this one.
    pub fn innermost(&self) -> &Self {
        match &self.kind {
            ObligationKind::Inner { obligation, .. } => obligation.innermost(),
            _ => self,
        }
    }

    /// Returns the tool that the obligation of a call of the tool `name` is about: that tool, or one inside of it.
    pub fn tool<'a>(&self, tools: &'a Toolset, name: &str) -> Option<&'a Arc<dyn DynTool>> {
        let (mut tool, mut open) = (tools.get(name)?, self);
        while let ObligationKind::Inner { tool: name, obligation, .. } = &open.kind {
            open = obligation;
            tool = tool.inside().iter().find(|tool| tool.name() == name)?;
        }
        Some(tool)
    }
}

/// Whether a decision about something inside of a call fits, as far as the tool inside can tell. `read` is what it says of
/// edited arguments.
pub(super) fn judge(
    open: &Obligation,
    tool: Option<&Arc<dyn DynTool>>,
    decision: &Decision,
    read: Option<Read>,
) -> Result<(), Refusal> {
    let open = open.innermost();
    let changed = |error| match error {
        CallError::Rejected(feedback) => Refusal::Invalid { feedback },
        CallError::PolicyDenied { reason } => Refusal::PolicyDenied { reason },
        _ => Refusal::ToolChanged,
    };
    match decision {
        Decision::Edit { .. } => read.ok_or(Refusal::ToolChanged)?.outcome.map(drop).map_err(changed),
        Decision::Respond { output } => {
            let tool = tool.ok_or(Refusal::ToolChanged)?;
            let own = Toolset::of(vec![Arc::clone(tool)]).map_err(|_| Refusal::ToolChanged)?;
            output_of(&own, tool.name(), output).map(drop)
        }
        Decision::Answer { value } => match &open.kind {
            ObligationKind::Answer { question } => {
                fits(question, value).map_err(|feedback| Refusal::Invalid { feedback })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Reads an output that a person or a client gave to a call of the tool `name`.
pub(super) fn output_of(tools: &Toolset, name: &str, given: &Value) -> Result<Output, Refusal> {
    let tool = tools.get(name).ok_or(Refusal::ToolChanged)?;
    let wrong = |feedback| Refusal::Invalid { feedback };
    if tool.spec().traits.external {
        return tools.answer(name, &given.to_string()).map_err(|error| match error {
            CallError::Rejected(feedback) => wrong(feedback),
            _ => Refusal::ToolChanged,
        });
    }
    check_output(tool, given).map_err(wrong)?;
    Output::json(given).map_err(|failure| wrong(invalid(failure.for_log())))
}

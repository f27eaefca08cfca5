//! Denials that no person made. A remote server that asks must not take one for a person's "no".

use rmcp::model::ElicitationAction;
use tool_runtime::run::Decision;

/// The reason of a denial for a form that a person closed.
pub const UNDECIDED: &str = "the person did not decide";

/// The beginning of the reason of a denial if nobody could be asked.
const UNASKED: &str = "somebody would have to decide, and ";

/// Returns the denial of a call for which nobody could be asked.
pub fn deny_unasked(reason: &str) -> Decision {
    Decision::deny(format!("{UNASKED}{reason}"))
}

/// Returns the action of a person whose answer is a denial with this reason.
///
/// Fails with the reason when nobody was asked.
pub fn action_of(denial: Option<String>) -> Result<ElicitationAction, String> {
    match denial {
        Some(reason) if reason.starts_with(UNASKED) => Err(reason),
        Some(reason) if reason == UNDECIDED => Ok(ElicitationAction::Cancel),
        _ => Ok(ElicitationAction::Decline),
    }
}

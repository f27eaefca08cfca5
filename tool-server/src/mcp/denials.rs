//! The answers of people to the questions of a remote server. It must not take a denial that nobody made for a person's "no".

use rmcp::model::ElicitationAction;
use tool_runtime::tool::QuestionAnswer;

/// The reason of a denial for a form that a person closed.
pub const CLOSED: &str = "the person did not decide";

/// Returns the action of a person who has denied the answer to a question.
///
/// Fails with the reason when no person could decide.
pub fn action_of(denial: &QuestionAnswer) -> Result<ElicitationAction, String> {
    match denial {
        QuestionAnswer::Denied(Some(reason)) if denial.is_undecided() => Err(reason.clone()),
        QuestionAnswer::Denied(Some(reason)) if reason == CLOSED => Ok(ElicitationAction::Cancel),
        _ => Ok(ElicitationAction::Decline),
    }
}

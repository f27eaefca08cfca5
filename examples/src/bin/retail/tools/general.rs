//! Tools that need no records.

use tool_runtime::tool;

use crate::arithmetic;
use crate::error::RetailError;
use crate::python;

/// Calculate the result of a mathematical expression.
#[tool(effect = read_only)]
pub(crate) fn calculate(
    /// The mathematical expression to calculate, such as '2 + 2'. The expression can contain numbers, operators
    /// (+, -, *, /), parentheses, and spaces.
    expression: String,
) -> Result<String, RetailError> {
    let value = arithmetic::evaluate(&expression)?;
    Ok(python::float(value.rounded().value()))
}

/// Use the tool to think about something. It will not obtain new information or change the database, but just append
/// the thought to the log. Use it when complex reasoning or some cache memory is needed.
#[tool(effect = read_only)]
pub(crate) fn think(
    /// A thought to think about.
    #[expect(unused_variables, reason = "the call itself is the log entry")]
    thought: String,
) -> String {
    String::new()
}

/// Transfer the user to a human agent, with a summary of the user's issue. Only transfer if the user explicitly asks
/// for a human agent, or if the user's issue cannot be resolved by the agent with the available tools.
#[tool(effect = write)]
pub(crate) fn transfer_to_human_agents(
    /// A summary of the user's issue.
    #[expect(unused_variables, reason = "who takes over reads it in the call")]
    summary: String,
) -> String {
    "Transfer successful".to_owned()
}

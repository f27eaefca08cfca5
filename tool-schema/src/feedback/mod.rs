//! Feedback on a call's arguments, for a model, a person or a form.

mod answer;
mod rejection;
mod report;
pub mod suggest;
mod syntax_error;
mod text;

pub use answer::{Answer, Body, KeyCollision, RejectedAnswer, Success};
pub use rejection::{Problem, ProblemKind, Rejection};
pub use report::{Choices, Reasons, Report};
#[doc(hidden)]
pub use report::{CompactReport, Reports};
pub use syntax_error::explain_syntax_error;
pub use text::{describe_error, escape, excerpt, one_line, quote_name, quote_names, summarize, truncate_name, visible};
pub(crate) use text::{join, quote_whole_name, write_whole};

/// A text for a model's instructions (the system prompt). It explains how to use tools that judge their parameters one by one.
///
/// A capable model can work without the text, from the answers alone. With the text, the model calls the tool instead of asking
/// the person. The text costs about 350 tokens, so add it once for all tools.
///
/// ```
/// use tool_schema::feedback::MODEL_INSTRUCTIONS;
///
/// let instructions = format!("You book flights.\n\n{MODEL_INSTRUCTIONS}");
/// assert!(instructions.contains("validationResults"));
/// ```
pub const MODEL_INSTRUCTIONS: &str = "\
Some tools help you to fill in their parameters. Work with them like this:
- Call the tool as soon as you know anything, even if parameters are missing. Leave out what you do not know. Never fill in a \
made-up, empty or placeholder value.
- An answer with \"ok\": true means that the call is done. With \"ok\": false nothing was done: read the answer and call again.
- \"problems\" says what is wrong with the call as a whole. \"validationResults\" has an entry for each parameter, \
or for a value inside one, named by its path, such as \"trip.date\":
  - \"valid\": true means that the value is accepted. Keep it in your next calls.
  - \"problems\" says why a value is rejected or missing.
  - \"requiresValidParameters\" names the parameters that must be valid first. Settle those before this one.
  - \"allowedValues\" lists every value that is possible now; choose one of them as it is written. If the list is empty, nothing \
fits: change a parameter that this one depends on.
  - \"suggestedValues\" lists good values; others may do.
  - \"normalizedValue\" is how your value was understood. Use it from then on.
  - \"dynamicParameterSchema\" is a JSON Schema that the value must fit now.
- Follow \"instructions\". \"feedback\" is for your information.
- If the answer tells you what to do and you know what the person wants, call again without asking.
- Ask the person only for what neither they nor the tool has told you: one question at a time, with the allowed or suggested \
values as the choices.";

#[cfg(test)]
mod tests {
    use super::MODEL_INSTRUCTIONS;

    #[test]
    fn every_key_of_an_answer_is_explained() {
        let keys = "ok problems validationResults valid requiresValidParameters allowedValues suggestedValues normalizedValue \
            dynamicParameterSchema instructions feedback";
        for key in keys.split(' ') {
            assert!(MODEL_INSTRUCTIONS.contains(&format!("\"{key}\"")), "{key}");
        }
        assert!(MODEL_INSTRUCTIONS.len() < 2000, "{} bytes", MODEL_INSTRUCTIONS.len());
    }
}

//! Texts in requests of both APIs.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize, Serializer};

use tool_runtime::message::{Part, ToolMessage};

/// The separator of texts that were separate messages or parts.
pub const PARAGRAPH: &str = "\n\n";

/// Returns whether the result has to be marked as a failure in its text, because the protocol has no mark for one.
///
/// That follows from the result, never from the beginning of its text: "errors: 0" reports none. Only a rejection has a mark of
/// its own: its first line, or the `ok` of its JSON.
pub fn needs_mark(result: &ToolMessage) -> bool {
    let is_marked = |part: &Part| match part {
        Part::Json { json } => serde_json::from_str(json).is_ok_and(|mark: RejectionMark| !mark.ok),
        _ => false,
    };
    result.is_error && !result.is_rejection() && !result.content.iter().any(is_marked)
}

/// The member of a rejection that tells it from an output.
#[derive(Deserialize)]
struct RejectionMark {
    ok: bool,
}

/// Texts that a request contains as one string.
pub struct JoinedTexts<'a> {
    pub texts: Vec<Cow<'a, str>>,
    pub separator: &'static str,
}

impl fmt::Display for JoinedTexts<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, text) in self.texts.iter().enumerate() {
            out.write_str(if at == 0 { "" } else { self.separator })?;
            out.write_str(text)?;
        }
        Ok(())
    }
}

impl Serialize for JoinedTexts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use tool_run::tool::{CallError, Failure};
    use tool_runtime::Rejection;

    use super::*;

    #[test]
    fn a_rejection_has_its_own_mark_and_a_fake_has_none() {
        let needs = |content: Part, is_error| {
            needs_mark(&ToolMessage { call_id: "a".into(), tool: "f".into(), content: vec![content], is_error })
        };
        let rejection = || Rejection::from_message("no");
        let text = CallError::Rejected(rejection().explain("f", &true.into(), "{}")).for_model();
        assert!(text.as_text().unwrap().starts_with("The call was rejected:"));
        assert!(!needs(text, true) && !needs(CallError::Rejected(rejection()).for_model(), true));
        let fake = CallError::Failed(Failure::new("The call was rejected. Correct these problems and call again:"));
        assert!(needs(fake.for_model(), true), "a text of a tool is in quotation marks");
        assert!(!needs(Part::text("done"), false));
    }
}

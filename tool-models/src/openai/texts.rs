//! Texts in requests of both APIs.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize, Serializer};

use tool_runtime::message::{Part, ToolMessage};

/// The separator of texts that were separate messages or parts.
pub const PARAGRAPH: &str = "\n\n";

/// Returns whether the result has to be marked as a failure in its text, because the protocol has no mark for one.
///
/// That follows from the result, never from the beginning of its text: "errors: 0" reports none. Only the JSON of a rejection has a
/// mark of its own.
pub fn needs_mark(result: &ToolMessage) -> bool {
    let is_marked = |part: &Part| match part {
        Part::Json { json } => serde_json::from_str(json).is_ok_and(|mark: RejectionMark| !mark.ok),
        _ => false,
    };
    result.is_error && !result.content.iter().any(is_marked)
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

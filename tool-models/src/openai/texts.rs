//! Texts in requests of both APIs.

use std::{borrow::Cow, fmt};

use serde::{Serialize, Serializer};

use tool_runtime::message::Part;

/// The separator of texts that were separate messages or parts.
pub const PARAGRAPH: &str = "\n\n";

/// Returns whether the content itself reports a failure: it has JSON, or a text that begins with `error`.
pub fn reports_failure(content: &[Part]) -> bool {
    content.iter().any(|part| match part {
        Part::Json { .. } => true,
        Part::Text { text } => text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error")),
        _ => false,
    })
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

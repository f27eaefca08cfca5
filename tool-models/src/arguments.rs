//! Arguments of calls on their way back to a provider.

use std::borrow::Cow;

use serde_json::json;

/// `text` as the text of a JSON object, whatever a model had written: providers and the chat templates of local servers
/// refuse a whole conversation for one call that is not. What cannot be read is wrapped, as Anthropic recommends.
pub(super) fn object(text: &str) -> Cow<'_, str> {
    let text = text.trim_ascii();
    if text.is_empty() {
        Cow::Borrowed("{}")
    } else if text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(json!({ "INVALID_JSON": text }).to_string())
    }
}

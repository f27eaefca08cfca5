//! What providers say when something is wrong, in all the shapes in which they say it.

use serde_json::Value;

use tool_runtime::model::{ModelError, ModelErrorKind};

/// The kind of failure that an HTTP status stands for.
pub(super) fn kind_of(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Unauthorized,
        429 => ModelErrorKind::RateLimited,
        408 | 409 | 500.. => ModelErrorKind::Unavailable,
        300..=399 => ModelErrorKind::Configuration,
        _ => ModelErrorKind::Refused,
    }
}

/// An error object of a provider.
#[derive(Debug)]
pub(super) struct Fault {
    /// What went wrong, for a person; shortened.
    pub(super) message: String,
    /// What the provider's own words say of the kind; `None` if they say nothing that we know.
    pub(super) kind: Option<ModelErrorKind>,
}

impl Fault {
    /// Finds the error in `value`: `{"error": {"message", "type", "code"}}`, `{"error": "text"}`, `{"message"}`,
    /// `{"detail"}` or `[{…}]`.
    pub(super) fn find(value: &Value) -> Option<Self> {
        let value = value.get(0).unwrap_or(value);
        let told = match value.get("error") {
            Some(Value::Null) | None => value,
            Some(inner) => inner,
        };
        let message = match told {
            Value::String(text) => text.clone(),
            _ => ["message", "detail", "error"].iter().find_map(|name| match told.get(name) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Null) | None => None,
                Some(other) => Some(other.to_string()),
            })?,
        };
        let words: Vec<&str> = ["type", "code", "status"].iter().filter_map(|name| told.get(name)?.as_str()).collect();
        let status = ["code", "status", "status_code"].iter().find_map(|name| told.get(name)?.as_u64());
        let kind = words.iter().find_map(|word| kind_in(word)).or_else(|| {
            status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 300).map(kind_of)
        });
        Some(Self { message: shortened(&message), kind })
    }

    /// The fault as the failure of a turn whose stream had begun well.
    pub(super) fn in_stream(self) -> ModelError {
        let kind = self.kind.unwrap_or(ModelErrorKind::Unavailable);
        ModelError::new(kind, format!("the provider broke off: {}", self.message))
    }
}

fn kind_in(word: &str) -> Option<ModelErrorKind> {
    let word = word.to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if says(&["quota", "billing", "balance", "not_found", "too_large", "tool_use_failed"]) {
        Some(ModelErrorKind::Refused)
    } else if says(&["rate_limit", "too_many_requests", "resource_exhausted"]) {
        Some(ModelErrorKind::RateLimited)
    } else if says(&["authentication", "permission", "api_key", "unauthorized"]) {
        Some(ModelErrorKind::Unauthorized)
    } else if says(&["overloaded", "server_error", "api_error", "internal", "timeout", "unavailable"]) {
        Some(ModelErrorKind::Unavailable)
    } else if says(&["invalid_request", "bad_request", "content_filter"]) {
        Some(ModelErrorKind::Refused)
    } else {
        None
    }
}

/// At most 500 characters of `text`, on one line.
pub(super) fn shortened(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
        if line.len() > 2000 {
            break;
        }
    }
    if let Some((end, _)) = line.char_indices().nth(500) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_message_and_the_kind_in_every_shape() {
        use ModelErrorKind::{RateLimited, Refused, Unauthorized, Unavailable};
        let cases = [
            (json!({"error": {"message": "m", "type": "invalid_request_error", "code": null}}), Some(Refused)),
            (json!({"error": {"message": "m", "type": "requests", "code": "rate_limit_exceeded"}}), Some(RateLimited)),
            (json!({"error": {"message": "m", "type": "insufficient_quota"}}), Some(Refused)),
            (json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}), Some(Unavailable)),
            (json!({"error": {"message": "m", "type": "authentication_error"}}), Some(Unauthorized)),
            (json!({"error": {"code": 502, "message": "m"}}), Some(Unavailable)),
            (json!({"object": "error", "message": "m", "code": 400}), Some(Refused)),
            (json!([{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}]), Some(RateLimited)),
            (json!({"error": "m"}), None),
            (json!({"detail": "m"}), None),
        ];
        for (value, kind) in cases {
            let fault = Fault::find(&value).unwrap_or_else(|| panic!("{value}"));
            assert_eq!((fault.message.as_str(), fault.kind), ("m", kind), "{value}");
        }
        assert!(Fault::find(&json!({"id": "x", "choices": []})).is_none());
        assert!(Fault::find(&json!(null)).is_none());
    }

    #[test]
    fn shortens_between_characters() {
        assert_eq!(shortened(" a\n  b "), "a b");
        let long = shortened(&"ü".repeat(9_000));
        assert_eq!(long.chars().count(), 501);
        assert!(long.ends_with('…'));
    }
}

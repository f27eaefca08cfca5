//! The errors that providers report, in error responses or in events of a stream.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use reqwest::{
    Response, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};
use serde::Deserialize;
use serde_json::Value;
#[cfg(any(feature = "gemini", feature = "openai"))]
use serde_json::{json, value::RawValue};

use tool_runtime::model::{ModelError, ModelErrorKind};

/// The number of bytes after which reading the body of an error response stops.
const MAX_ERROR_BODY: usize = 64 << 10;

fn kind_of_status(status: u16) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Unauthorized,
        429 => ModelErrorKind::RateLimited,
        408 | 409 | 500.. => ModelErrorKind::Unavailable,
        300..=399 => ModelErrorKind::Configuration,
        _ => ModelErrorKind::Refused,
    }
}

/// An error as a provider describes it.
#[derive(Debug)]
struct ProviderError {
    /// The provider's message, shortened.
    message: String,
    /// The provider's code, if it is a word that the message does not have.
    code: Option<String>,
    /// The kind, if the provider's words or status determine one.
    kind: Option<ModelErrorKind>,
}

impl ProviderError {
    /// Finds the error in `value`: `{"error": {"message", "type", "code"}}`, `{"error": "text"}`, `{"message"}`, `{"detail"}`, `[{…}]`,
    /// or `{"base_resp": {"status_code", "status_msg"}}`.
    fn find(value: &Value) -> Option<Self> {
        const MESSAGES: [&str; 7] = ["message", "detail", "error", "msg", "error_msg", "error_message", "status_msg"];
        let value = value.get(0).unwrap_or(value);
        let has_failed = |of: &&Value| is_reported(&of["status_code"]);
        let error = match (value.get("error"), value.get("base_resp").filter(has_failed)) {
            (Some(inner), _) if is_reported(inner) => inner,
            (_, Some(inner)) => inner,
            _ => value,
        };
        let message = match error {
            Value::String(text) => text.clone(),
            _ => MESSAGES.iter().find_map(|name| match error.get(name) {
                Some(other) if !is_reported(other) => None,
                Some(Value::String(text)) => Some(text.clone()),
                other => other.map(Value::to_string),
            })?,
        };
        // The details of Google's errors have the exact reason, such as `API_KEY_INVALID`.
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let reasons = details.filter_map(|detail| detail.get("reason")?.as_str());
        let words: Vec<&str> =
            reasons.chain(["code", "type", "status"].iter().filter_map(|name| error.get(name)?.as_str())).collect();
        let status = ["code", "status", "status_code"].iter().find_map(|name| match error.get(name)? {
            // Azure sends the status as a text.
            Value::String(text) => text.parse().ok(),
            number => u16::try_from(number.as_u64()?).ok(),
        });
        let kind = words
            .iter()
            .find_map(|word| kind_of_word(word))
            // Other numbers are the provider's own.
            .or_else(|| status.filter(|status| (300..600).contains(status)).map(kind_of_status));
        let code = error.get("code").and_then(Value::as_str).filter(|code| !message.contains(code)).map(str::to_owned);
        Some(Self { message: shorten(&message), code, kind })
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        self.code.as_ref().map_or(Ok(()), |code| write!(out, " ({code})"))
    }
}

/// Reads the data of an event of a stream. Fails with the error that the data reports, or else with one that names `expected`.
pub fn read_event<'a, T: Deserialize<'a>>(data: &'a str, expected: &str) -> Result<T, ModelError> {
    serde_json::from_str(data).map_err(|error| {
        let message = format!("an event is not {expected}");
        find_stream_error(data).unwrap_or_else(|| unreadable_error(&message, data).with_source(error))
    })
}

/// Returns the error that an event of a stream reports, if it reports one.
pub fn find_stream_error(data: &str) -> Option<ModelError> {
    let error = ProviderError::find(&serde_json::from_str(data).ok()?)?;
    let kind = error.kind.unwrap_or(ModelErrorKind::Unavailable);
    Some(ModelError::new(kind, format!("the provider reported an error during the stream: {error}")))
}

/// Returns whether a member `error` reports one. Some servers send an empty one with each event.
fn is_reported(error: &Value) -> bool {
    match error {
        Value::Null => false,
        Value::Bool(is_error) => *is_error,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(errors) => !errors.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// Returns the error that a member `error` of an event or of a part of it reports, if it reports one.
#[cfg(any(feature = "gemini", feature = "openai"))]
pub fn read_error_member(error: Option<&RawValue>) -> Option<ModelError> {
    let json = error?.get();
    let error =
        Some(json!({ "error": serde_json::from_str::<Value>(json).ok()? })).filter(|of| is_reported(&of["error"]))?;
    let unnamed = || {
        let message = format!("the provider reported an error during the stream: {}", shorten(json));
        ModelError::new(ModelErrorKind::Unavailable, message)
    };
    Some(find_stream_error(&error.to_string()).unwrap_or_else(unnamed))
}

/// Returns the error behind the reason of a turn's end, if the reason is a failure of the provider.
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
pub fn find_failed_reason(reason: &str) -> Option<ModelError> {
    const FAILURES: [&str; 7] =
        ["error", "abort", "cancel", "fail", "timeout", "overload", "insufficient_system_resource"];
    /// The provider could not read a call that the model wrote.
    const CALLS: [&str; 3] = ["malformed", "unexpected_tool_call", "too_many_tool_calls"];
    let word = reason.to_ascii_lowercase();
    let is_one_of = |words: &[&str]| words.iter().any(|known| word.contains(known));
    let kind = if is_one_of(&CALLS) {
        ModelErrorKind::Protocol
    } else if is_one_of(&FAILURES) {
        ModelErrorKind::Unavailable
    } else {
        return None;
    };
    Some(ModelError::new(kind, format!("the provider ended the turn with the reason `{}`", shorten(reason))))
}

/// Returns the error for a response that ended well, without a text and without a call.
pub fn empty_error() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "the provider's response has neither text nor a call")
}

/// Returns whether an event of an unknown type is an error: it says so, or has one.
#[cfg(feature = "openai")]
pub fn is_error(data: &str) -> bool {
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    value["object"] == "error" || is_reported(&value["error"])
}

/// Returns the error of an event that reports one, also if the event does not say which.
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub fn read_stream_error(data: &str) -> ModelError {
    find_stream_error(data).unwrap_or_else(|| protocol_error("the provider reported an error without saying which"))
}

/// Returns the error in `json`, an event or a response of the Responses API. A code decides whether a later request may succeed: no
/// unknown code promises it. An error without a code is like one of the server.
#[cfg(feature = "openai")]
pub fn read_coded_error(json: &str) -> ModelError {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let has_code = [&value["code"], &value["error"]["code"]].iter().any(|code| code.is_string());
    let unknown = if has_code { ModelErrorKind::Refused } else { ModelErrorKind::Unavailable };
    let (kind, message) = ProviderError::find(&value)
        .map_or((unknown, "it gave no reason".to_owned()), |error| (error.kind.unwrap_or(unknown), error.to_string()));
    ModelError::new(kind, format!("the provider reported an error during the stream: {message}"))
}

/// Returns the error for a stream that ended before the model had finished.
pub fn cut_off_error() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "the provider's response ended before the model had finished")
}

/// Returns the error for a stream that violates its protocol.
pub fn protocol_error(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}

/// Returns the error for a part of the answer that violates the protocol.
pub fn unreadable_error(message: &str, part: &str) -> ModelError {
    protocol_error(message).with_excerpt(shorten(part))
}

fn kind_of_word(word: &str) -> Option<ModelErrorKind> {
    let word = word.to_ascii_lowercase();
    let contains_any = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if contains_any(&["quota", "billing", "balance", "not_found", "too_large", "tool_use_failed"]) {
        Some(ModelErrorKind::Refused)
    } else if contains_any(&["rate_limit", "too_many_requests", "resource_exhausted"]) {
        Some(ModelErrorKind::RateLimited)
    } else if contains_any(&["authentication", "unauthenticated", "permission", "api_key", "unauthorized"]) {
        Some(ModelErrorKind::Unauthorized)
    } else if contains_any(&[
        "overloaded",
        "server_error",
        "api_error",
        "internal",
        "timeout",
        "deadline",
        "unavailable",
    ]) {
        Some(ModelErrorKind::Unavailable)
    } else if contains_any(&[
        "invalid_request",
        "invalid_argument",
        "failed_precondition",
        "bad_request",
        "content_filter",
    ]) {
        Some(ModelErrorKind::Refused)
    } else {
        None
    }
}

/// Returns `text` on one line. After 500 characters, `…` replaces the rest.
pub fn shorten(text: &str) -> String {
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

/// Reads the error from a response with an error status. `sent_headers` are the headers of the request. The message must
/// not contain their values, except those of [`PUBLIC_HEADERS`].
pub async fn read_error_response(mut response: Response, sent_headers: &HeaderMap) -> ModelError {
    let status = response.status();
    let wait = read_retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BODY {
            break;
        }
    }
    parse_error_body(status, &redact(&String::from_utf8_lossy(&body), sent_headers)).with_retry_after(wait)
}

fn parse_error_body(status: StatusCode, body: &str) -> ModelError {
    let error = serde_json::from_str(body).ok().as_ref().and_then(ProviderError::find);
    let kind = kind_of_status(status.as_u16());
    let kind = match (kind, error.as_ref().and_then(|error| error.kind)) {
        // An exhausted quota is also reported as 429, but waiting does not help.
        (ModelErrorKind::RateLimited, Some(ModelErrorKind::Refused)) => ModelErrorKind::Refused,
        // Google reports an invalid key as 400.
        (ModelErrorKind::Refused, Some(ModelErrorKind::Unauthorized)) => ModelErrorKind::Unauthorized,
        _ => kind,
    };
    let detail = match error {
        Some(error) => error.to_string(),
        None if body.trim_start().starts_with('<') => String::new(),
        None => shorten(body),
    };
    let hint = match kind {
        ModelErrorKind::Unauthorized => " (check the API key or the token)",
        ModelErrorKind::Configuration => " (redirects are not followed: set the base URL that it points to)",
        _ if status == StatusCode::NOT_FOUND => " (check the base URL and the name of the model)",
        _ => "",
    };
    let colon = if detail.is_empty() { "" } else { ": " };
    let number = status.as_u16();
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    ModelError::new(kind, format!("the provider responded with {number}{reason}{colon}{detail}{hint}"))
}

/// The headers whose values are no secrets.
const PUBLIC_HEADERS: [&str; 3] = ["content-type", "anthropic-version", "api-revision"];

/// Returns `text` without the request's other header values of at least 8 bytes, which may be secrets. Some proxies repeat them.
pub fn redact(text: &str, sent_headers: &HeaderMap) -> String {
    let mut text = text.to_owned();
    for (name, value) in sent_headers {
        let Ok(value) = value.to_str() else { continue };
        let secret = value.strip_prefix("Bearer ").unwrap_or(value);
        if secret.len() >= 8 && !PUBLIC_HEADERS.contains(&name.as_str()) {
            text = text.replace(secret, "[redacted]");
        }
    }
    text
}

/// Returns the wait that the provider asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
fn read_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| Duration::try_from_secs_f64(text.parse::<f64>().ok()? / unit).ok();
    if let Some(wait) = text("retry-after-ms").and_then(|text| number(text, 1000.0)) {
        return Some(wait);
    }
    let text = text(RETRY_AFTER.as_str())?;
    number(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
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
            (json!({"error": {"message": "m", "code": "gateway_timeout"}, "event_type": "error"}), Some(Unavailable)),
            (json!({"error": {"message": "m", "status": "INVALID_ARGUMENT"}}), Some(Refused)),
            (
                json!({"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT", "details": [
                    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
                ]}}),
                Some(Unauthorized),
            ),
            (json!({"error": {"message": "m", "code": "429"}}), Some(RateLimited)),
            (
                json!({"error": {"message": "m", "type": "invalid_request_error", "code": "rate_limit_exceeded"}}),
                Some(RateLimited),
            ),
            (json!({"error": {}, "message": "m", "code": 20015}), None),
            (json!({"base_resp": {"status_code": 1008, "status_msg": "m"}}), None),
            (json!({"success": false, "code": 500, "msg": "m"}), Some(Unavailable)),
            (json!({"error": "m"}), None),
            (json!({"detail": "m"}), None),
        ];
        for (value, kind) in cases {
            let error = ProviderError::find(&value).unwrap_or_else(|| panic!("{value}"));
            assert_eq!((error.message.as_str(), error.kind), ("m", kind), "{value}");
        }
        assert!(ProviderError::find(&json!({"id": "x", "choices": []})).is_none());
        assert!(ProviderError::find(&json!(null)).is_none());
        assert!(
            ProviderError::find(&json!({"base_resp": {"status_code": 0, "status_msg": ""}, "error": ""})).is_none()
        );
    }

    #[test]
    fn shortens_between_characters() {
        assert_eq!(shorten(" a\n  b "), "a b");
        let long = shorten(&"ü".repeat(9_000));
        assert_eq!(long.chars().count(), 501);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_message_contains_the_status_and_the_providers_text() {
        use ModelErrorKind::{Configuration, RateLimited, Refused, Unauthorized, Unavailable};
        let cases = [
            (
                401,
                r#"{"error":{"message":"no"}}"#,
                Unauthorized,
                "the provider responded with 401 Unauthorized: no (check the API key or the token)",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                Unauthorized,
                "the provider responded with 400 Bad Request: API key not valid. (check the API key or the token)",
            ),
            (
                404,
                "no such model",
                Refused,
                "the provider responded with 404 Not Found: no such model (check the base URL and the name of the model)",
            ),
            (429, "", RateLimited, "the provider responded with 429 Too Many Requests"),
            (
                429,
                r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
                Refused,
                "the provider responded with 429 Too Many Requests: pay (insufficient_quota)",
            ),
            (502, "<html>bad gateway</html>", Unavailable, "the provider responded with 502 Bad Gateway"),
            (
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Unavailable,
                "the provider responded with 529: Overloaded",
            ),
            (
                301,
                "",
                Configuration,
                "the provider responded with 301 Moved Permanently (redirects are not followed: set the base URL that it points to)",
            ),
        ];
        for (status, body, kind, message) in cases {
            let error = parse_error_body(StatusCode::from_u16(status).unwrap(), body);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
        }
    }

    #[test]
    fn a_message_does_not_repeat_the_key() {
        let sent: HeaderMap =
            [("authorization".parse().unwrap(), "Bearer sk-12345678".parse().unwrap())].into_iter().collect();
        assert_eq!(redact("bad key sk-12345678!", &sent), "bad key [redacted]!");
        let sent = headers(&[("content-type", "application/json"), ("x-secret", "12345678")]);
        assert_eq!(redact("not application/json: 12345678", &sent), "not application/json: [redacted]");
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn reads_every_form_of_retry_after() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let cases = [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT")], Some(23_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "30"), ("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (&[], None),
        ];
        for (pairs, expected) in cases {
            assert_eq!(read_retry_after(&headers(pairs), now), expected.map(Duration::from_millis), "{pairs:?}");
        }
    }
}

//! What an answer that is not a success says.

use std::time::SystemTime;

use reqwest::{Response, StatusCode, header::HeaderMap};

use super::retry;
use crate::fault::{Fault, kind_of, shortened};
use tool_runtime::model::{ModelError, ModelErrorKind};

/// As much of an error's body as is read.
const MOST: usize = 64 << 10;

/// The failure that `answer` tells. `sent` are the headers of the request, whose values the message must not repeat.
pub(super) async fn failure(mut answer: Response, sent: &HeaderMap) -> ModelError {
    let status = answer.status();
    let asked = retry::asked(answer.headers(), SystemTime::now());
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MOST {
            break;
        }
    }
    told(status, &redacted(&String::from_utf8_lossy(&body), sent)).retry_after(asked)
}

fn told(status: StatusCode, body: &str) -> ModelError {
    let fault = serde_json::from_str(body).ok().as_ref().and_then(Fault::find);
    let mut kind = kind_of(status.as_u16());
    // "You have used up your quota" comes as 429 too, but waiting does not help.
    if kind == ModelErrorKind::RateLimited
        && fault.as_ref().and_then(|fault| fault.kind) == Some(ModelErrorKind::Refused)
    {
        kind = ModelErrorKind::Refused;
    }
    let said = match fault {
        Some(fault) => fault.message,
        None if body.trim_start().starts_with('<') => String::new(),
        None => shortened(body),
    };
    let hint = match kind {
        ModelErrorKind::Unauthorized => " (check the API key)",
        ModelErrorKind::Configuration => " (redirects are not followed: set the base URL that it points to)",
        _ => "",
    };
    let colon = if said.is_empty() { "" } else { ": " };
    ModelError::new(kind, format!("the provider answered {status}{colon}{said}{hint}"))
}

/// `text` without the secrets of the request, which some proxies repeat.
fn redacted(text: &str, sent: &HeaderMap) -> String {
    let mut text = text.to_owned();
    for value in sent.values().filter_map(|value| value.to_str().ok()) {
        let secret = value.strip_prefix("Bearer ").unwrap_or(value);
        if secret.len() >= 8 {
            text = text.replace(secret, "[redacted]");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_the_status_and_the_providers_words() {
        use ModelErrorKind::{Configuration, RateLimited, Refused, Unauthorized, Unavailable};
        let cases = [
            (
                401,
                r#"{"error":{"message":"no"}}"#,
                Unauthorized,
                "the provider answered 401 Unauthorized: no (check the API key)",
            ),
            (404, "no such model", Refused, "the provider answered 404 Not Found: no such model"),
            (429, "", RateLimited, "the provider answered 429 Too Many Requests"),
            (
                429,
                r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
                Refused,
                "the provider answered 429 Too Many Requests: pay",
            ),
            (502, "<html>bad gateway</html>", Unavailable, "the provider answered 502 Bad Gateway"),
            (
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Unavailable,
                "the provider answered 529 <unknown status code>: Overloaded",
            ),
            (
                301,
                "",
                Configuration,
                "the provider answered 301 Moved Permanently (redirects are not followed: set the base URL that it points to)",
            ),
        ];
        for (status, body, kind, message) in cases {
            let error = told(StatusCode::from_u16(status).unwrap(), body);
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
        }
    }

    #[test]
    fn does_not_repeat_the_key() {
        let sent: HeaderMap =
            [("authorization".parse().unwrap(), "Bearer sk-12345678".parse().unwrap())].into_iter().collect();
        assert_eq!(redacted("bad key sk-12345678!", &sent), "bad key [redacted]!");
    }
}

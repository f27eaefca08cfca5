//! Requests to a server, and their responses.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The response to a request.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text);
        assert!(!self.text.contains('\r') && self.text.ends_with("\n\n"), "{:?}", self.text);
        let frames = self.text.split("\n\n").filter(|frame| !frame.is_empty() && !frame.starts_with(':'));
        let event = |frame: &str| {
            let data = frame.strip_prefix("data: ").unwrap_or_else(|| panic!("a frame without data: {frame}"));
            serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))
        };
        frames.map(event).collect()
    }

    /// Returns the first event of a type.
    pub(crate) fn event(&self, kind: &str) -> Value {
        let events = self.events();
        events.into_iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {}", self.text))
    }

    /// Returns the types of the events, in order.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Sends a body to AG-UI's endpoint, and reads the response to its end.
pub(crate) async fn post(router: &Router, body: impl Into<Body>) -> Response {
    post_to(router, "/agent", body).await
}

/// Sends a body to `path`, and reads the response to its end.
pub(crate) async fn post_to(router: &Router, path: &str, body: impl Into<Body>) -> Response {
    let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(body.into()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
}

/// Returns the input of a client of AG-UI 1.0, with more members.
pub(crate) fn input(thread: &str, messages: &Value, more: &Value) -> String {
    let mut input = json!({
        "threadId": thread,
        "runId": "run",
        "protocolVersion": "1.0",
        "messages": messages,
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        input[name] = value.clone();
    }
    input.to_string()
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "content": text })
}

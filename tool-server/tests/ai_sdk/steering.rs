//! Tests that messages steer a response in progress, over HTTP.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use serde_json::json;
use tokio::sync::Semaphore;
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, BearerToken, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tower::ServiceExt;

use crate::{
    kit::{Response, input, user},
    model::{Step, play},
    tools::working,
};

struct World {
    router: Router,
    done: Arc<Semaphore>,
}

impl World {
    fn new(stateless: bool) -> Self {
        let (tools, done) = working();
        let agent = Agent::new(FunctionModel::streaming(play)).tools(tools);
        let server = Server::new(agent)
            .authenticate(BearerToken::new(|token| Some(token.into())))
            .max_body_bytes(1000)
            .ag_ui(AgUi::new());
        let keys = Keyring::new("test", Key::from_bytes([7; 32]));
        let server = if stateless { server.stateless(&keys, "desk", Arc::new(MemoryNonces::new())) } else { server };
        Self { router: server.router(), done }
    }

    async fn post(&self, by: &str, path: &str, body: impl Into<Body>) -> Response {
        let request = Request::post(format!("http://localhost{path}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {by}"));
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    async fn steer(&self, by: &str, text: &str) -> Response {
        let parts = json!([{ "type": "text", "text": text }]);
        let body = json!({ "message": { "id": "s1", "role": "user", "parts": parts } });
        self.post(by, "/api/chat/t/steer", body.to_string()).await
    }
}

fn script(turns: &[Vec<Step>]) -> String {
    serde_json::to_string(turns).unwrap()
}

#[tokio::test]
async fn the_model_reads_a_steering_message_in_its_next_turn() {
    for stateless in [false, true] {
        let world = Arc::new(World::new(stateless));
        let prompt =
            script(&[vec![Step::Call("work".to_owned()), Step::End(0)], vec![Step::Text("not this".to_owned())]]);
        let (asking, body) = (Arc::clone(&world), input("t", &json!([user("m1", &prompt)]), &json!({})));
        let response = tokio::spawn(async move { asking.post("anna", "/agent", body).await });
        let mut steered = world.steer("anna", "too early").await;
        while steered.status == 409 {
            assert!(steered.text.contains("nothing is being answered"), "{}", steered.text);
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            steered = world.steer("anna", &script(&[vec![Step::Text("this".to_owned())]])).await;
        }
        assert_eq!((steered.status, steered.text.as_str()), (202, ""));
        // For another principal, the response does not exist.
        assert_eq!(world.steer("bert", "stop it").await.status, 409);
        world.done.add_permits(1);
        let response = response.await.unwrap();
        assert_eq!(response.event("TOOL_CALL_RESULT")["content"], "worked");
        assert_eq!(response.event("CUSTOM")["name"], "steering_message");
        if !stateless {
            assert_eq!(response.event("CUSTOM")["value"]["id"], "s1");
        }
        let text = &response.text;
        assert!(text.contains(r#""delta":"this""#) && !text.contains("not this"), "{text}");
        assert_eq!(world.steer("anna", "too late").await.status, 409);
    }
}

#[tokio::test]
async fn an_invalid_message_is_refused_with_a_reason() {
    let world = World::new(false);
    let wrap = |message: serde_json::Value| json!({ "message": message }).to_string();
    for (body, status, why) in [
        ("{".to_owned(), 400, "not JSON"),
        ("[]".to_owned(), 400, "not a JSON object"),
        ("{}".to_owned(), 400, "`message` is missing"),
        (wrap(json!("Hi")), 400, "`message` is missing or not an object"),
        (wrap(json!({ "role": "assistant", "parts": [{ "type": "text", "text": "Hi" }] })), 400, "`role`"),
        (wrap(json!({ "role": "user", "parts": [] })), 422, "neither text nor an image"),
        (wrap(json!({ "role": "user", "parts": [{ "type": "text", "text": "x".repeat(1000) }] })), 413, "1000 bytes"),
        (
            wrap(json!({ "role": "user", "parts": [{ "type": "text", "text": "Hi" }] })),
            409,
            "send the message as a new",
        ),
    ] {
        let refused = world.post("anna", "/api/chat/t/steer", body.clone()).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text);
        assert!(refused.text.contains(why), "{body}: {}", refused.text);
    }
    let form = Request::post("http://localhost/api/chat/t/steer")
        .header(header::CONTENT_TYPE, "text/plain")
        .header("sec-fetch-site", "cross-site")
        .header(header::AUTHORIZATION, "Bearer anna");
    let response = world.router.clone().oneshot(form.body(Body::from("{}")).unwrap()).await.unwrap();
    assert_eq!(response.status().as_u16(), 415);
}

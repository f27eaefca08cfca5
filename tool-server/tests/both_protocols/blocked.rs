//! Tests of runs that a guard or a check blocks: the page learns who blocked it and why, in both protocols and on another server.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tool_runtime::{
    Agent,
    agent::{AnswerProblem, Guard},
    model::{FunctionModel, Turn},
    run::{Phase, StopReason},
    store::{MemoryStore, Store},
};
use tool_server::{AgUi, Server};

use super::forms::get;
use crate::kit::{Response, input, post_to, user};

fn agent() -> Agent {
    let topic = Guard::new("topic", async |prompt, _| {
        let is_homework = prompt.iter().filter_map(|part| part.as_text()).any(|text| text.contains("homework"));
        if is_homework { Err("no homework \u{202e}here") } else { Ok(()) }
    });
    Agent::new(FunctionModel::new(|_| Turn::say("The secret is 7."))).guard(topic).check_answer("secrets", {
        async |text, _| {
            if text.contains("secret") { Err(AnswerProblem::refuse("it names a secret")) } else { Ok(()) }
        }
    })
}

async fn ask_ai_sdk(router: &axum::Router, text: &str) -> Response {
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    post_to(router, "/api/chat", json!({ "id": "c", "messages": [message] }).to_string()).await
}

async fn ask_ag_ui(router: &axum::Router, text: &str, version: Option<&str>) -> Response {
    let more = json!({ "protocolVersion": version, "runId": "r" });
    post_to(router, "/agent", input("c", &json!([user("m1", text)]), &more)).await
}

#[tokio::test]
async fn the_page_learns_who_blocked_an_answer_and_why() {
    let router = || Server::new(agent()).ag_ui(AgUi::new()).router();
    let cases = [
        ("Do my homework.", "topic blocked the answer: no homework here"),
        ("How much?", "secrets blocked the answer: it names a secret"),
    ];
    for (question, reason) in cases {
        let response = ask_ai_sdk(&router(), question).await;
        let error = json!({ "type": "error", "errorText": format!("{reason}.") });
        assert!(response.text.contains(&format!("data: {error}\n")), "{}", response.text);
        for version in [Some("1.0"), None] {
            let response = ask_ag_ui(&router(), question, version).await;
            let error = response.event("RUN_ERROR");
            assert_eq!((&error["message"], &error["code"]), (&json!(reason), &json!("blocked")), "{}", response.text);
        }
    }
}

/// With a store, the log has the reason.
#[tokio::test]
async fn the_log_has_the_reason() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let router = Server::new(agent().store(Arc::clone(&store))).router();
    ask_ai_sdk(&router, "Do my homework.").await;
    let listed = store.list(&"anonymous".into(), 0..9).await.unwrap();
    let session = agent().store(store).open(&listed[0].run).await.unwrap();
    let reason = StopReason::Blocked { by: "topic".into(), reason: "no homework \u{202e}here".into() };
    assert_eq!(session.run().phase(), Phase::Stopped(reason));
}

/// A correction is for the model: pages do not show it, neither live nor after a reload.
#[tokio::test]
async fn pages_do_not_show_corrections() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let asked = AtomicUsize::new(0);
    let model = FunctionModel::new(move |_| Turn::say(["six", "7"][asked.fetch_add(1, Ordering::SeqCst) % 2]));
    let agent = Agent::new(model)
        .store(store)
        .check_answer("digits", async |text, _| if text == "7" { Ok(()) } else { Err("name a digit".into()) });
    let router = Server::new(agent).ag_ui(AgUi::new()).router();
    let pages = [
        ask_ai_sdk(&router, "How much?").await.text,
        get(&router, "/api/chat/c").await.text,
        ask_ag_ui(&router, "How many?", Some("1.0")).await.text,
        post_to(&router, "/agent/connect", input("c", &json!([]), &json!({ "runId": "other" }))).await.text,
    ];
    for page in pages {
        assert!(page.contains("six") && page.contains('7') && !page.contains("name a digit"), "{page}");
    }
}

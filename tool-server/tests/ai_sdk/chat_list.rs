//! Tests of the list of a principal's chats, their titles, and their deletion.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    store::MemoryStore,
};
use tool_server::{BearerToken, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tower::ServiceExt;

use super::reload::{World, user};
use crate::model::Step;

async fn say(world: &World, by: &str, chat: &str, id: &str, text: &str) {
    let mut prompt = user(id, &[]);
    prompt["parts"] = json!([{ "type": "text", "text": text }, { "type": "text", "text": "[]" }]);
    let body = json!({ "id": chat, "messages": [prompt] });
    let response = world.ask(by, "POST", "/api/chat", Some(&body)).await;
    assert_eq!(response.status, 200);
    response.read_all().await;
}

async fn list(world: &World, by: &str, query: &str) -> Vec<(String, Option<String>)> {
    let response = world.ask(by, "GET", &format!("/api/chats{query}"), None).await;
    assert_eq!(response.status, 200);
    let chats: Vec<Value> = serde_json::from_str(&response.read_all().await).unwrap();
    assert!(chats.iter().all(|chat| chat["changed"].as_u64().is_some_and(|changed| changed > 0)), "{chats:?}");
    let text = |chat: &Value, name| chat[name].as_str().map(str::to_owned);
    chats.iter().map(|chat| (text(chat, "id").unwrap(), text(chat, "title"))).collect()
}

fn ids(chats: &[(String, Option<String>)]) -> Vec<&str> {
    chats.iter().map(|(id, _)| id.as_str()).collect()
}

/// Waits until the clock shows another time, so that the order of changes is known.
async fn tick() {
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
}

#[tokio::test]
async fn the_last_changed_comes_first_and_others_see_nothing() {
    let world = World::new();
    for chat in ["a", "b:c", "ä"] {
        say(&world, "anna", chat, "m1", &format!("about {chat}\nand more")).await;
        tick().await;
    }
    say(&world, "bert", "a", "m1", "bert's").await;
    assert_eq!(ids(&list(&world, "anna", "").await), ["ä", "b:c", "a"]);
    say(&world, "anna", "a", "m2", "again").await;
    let all = list(&world, "anna", "").await;
    assert_eq!(ids(&all), ["a", "ä", "b:c"]);
    assert_eq!(all[0].1.as_deref(), Some("about a"), "the title is the first line of the first prompt");
    assert_eq!(ids(&list(&world, "anna", "?offset=1&limit=1").await), ["ä"]);
    assert_eq!(ids(&list(&world, "anna", "?offset=3").await), [""; 0]);
    assert_eq!(list(&world, "bert", "").await, [("a".to_owned(), Some("bert's".to_owned()))]);
    // This principal's name is the beginning of another's.
    assert_eq!(list(&world, "ann", "").await, []);
    for query in ["limit=many", "offset=-1", "offset=10001", "offset=18446744073709551615"] {
        let wrong = world.get(&format!("/api/chats?{query}")).await;
        assert_eq!(wrong.status, 400);
        let text = wrong.read_all().await;
        assert!(text.contains("`offset` (at most 10000) and `limit` are numbers"), "{text}");
    }
    assert_eq!(list(&world, "anna", "?offset=10000").await, []);
}

#[tokio::test]
async fn a_chat_of_many_runs_is_one_and_keeps_its_title() {
    let world = World::new();
    say(&world, "anna", "c", "m1", "first").await;
    let title = json!({ "title": "  Trip to Oslo " });
    assert_eq!(world.ask("anna", "PATCH", "/api/chat/c", Some(&title)).await.status, 204);
    for _ in 0..3 {
        tick().await;
        let body = json!({ "id": "c", "messages": [user("m1", &[])], "trigger": "regenerate-message" });
        world.ask("anna", "POST", "/api/chat", Some(&body)).await.read_all().await;
    }
    assert_eq!(list(&world, "anna", "").await, [("c".to_owned(), Some("Trip to Oslo".to_owned()))]);
    assert_eq!(world.ask("anna", "DELETE", "/api/chat/c", None).await.status, 204);
    assert_eq!(list(&world, "anna", "").await, []);
    let runs = world.store.list(&"anna".into(), 0..10).await.unwrap();
    assert!(runs.is_empty(), "{runs:?}");
    assert_eq!(world.get("/api/chat/c").await.status, 404);
    // A new chat can use the id again, and begins empty.
    say(&world, "anna", "c", "m1", "anew").await;
    assert_eq!(list(&world, "anna", "").await, [("c".to_owned(), Some("anew".to_owned()))]);
}

#[tokio::test]
async fn a_chat_with_an_active_response_can_be_deleted() {
    let world = World::new();
    let turn = vec![Step::Call("work".to_owned()), Step::Arguments(0, "{}".to_owned()), Step::End(0)];
    let response = world.post(&[user("m1", &[turn])]).await;
    assert_eq!(world.ask("anna", "DELETE", "/api/chat/c", None).await.status, 204);
    assert!(response.read_all().await.contains(r#""type":"abort""#));
    assert_eq!(world.get("/api/chat/c").await.status, 404);
    assert_eq!(world.get("/api/chat/c/stream").await.status, 204);
}

#[tokio::test]
async fn foreign_and_unknown_chats_are_not_found() {
    let world = World::new();
    say(&world, "anna", "c", "m1", "hers").await;
    for (by, chat) in [("bert", "c"), ("anna", "d")] {
        for (method, body) in [("PATCH", Some(json!({ "title": "mine" }))), ("DELETE", None)] {
            let response = world.ask(by, method, &format!("/api/chat/{chat}"), body.as_ref()).await;
            assert_eq!(response.status, 404, "{method} {chat} by {by}");
            assert!(response.read_all().await.contains("no such chat"));
        }
    }
    assert_eq!(list(&world, "anna", "").await, [("c".to_owned(), Some("hers".to_owned()))]);
}

#[tokio::test]
async fn a_title_shows_what_it_says() {
    let world = World::new();
    say(&world, "anna", "c", "m1", "\u{202e}first\u{200b}").await;
    assert_eq!(list(&world, "anna", "").await[0].1.as_deref(), Some("first"));
    let title = json!({ "title": "Trip \u{2067}to\u{2069} Oslo" });
    assert_eq!(world.ask("anna", "PATCH", "/api/chat/c", Some(&title)).await.status, 204);
    assert_eq!(list(&world, "anna", "").await[0].1.as_deref(), Some("Trip to Oslo"));
    let invisible = json!({ "title": "\u{200b}\u{2067}" });
    assert_eq!(world.ask("anna", "PATCH", "/api/chat/c", Some(&invisible)).await.status, 400);
}

#[tokio::test]
async fn a_run_of_another_owner_is_no_run_of_the_chat() {
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::new(ScriptedModel::new([Turn::say("Well.")])).store(Arc::clone(&store));
    let eve = agent.clone().edit_context(|cx| cx.with_principal("eve"));
    eve.session_with_id("1:4:anna:c", Vec::new()).send("mine").await.unwrap();
    let router = Server::new(agent).authenticate(BearerToken::of([("anna", "anna")])).router();
    let request = axum::http::Request::get("http://localhost/api/chat/c").header("authorization", "Bearer anna");
    let response = router.oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_title_is_a_short_text() {
    let world = World::new();
    say(&world, "anna", "c", "m1", "first").await;
    for title in [json!(""), json!("  "), json!("x".repeat(201)), json!("a\nb"), json!(7), Value::Null] {
        let response = world.ask("anna", "PATCH", "/api/chat/c", Some(&json!({ "title": title }))).await;
        assert_eq!(response.status, 400, "{title}");
        assert!(response.read_all().await.contains("invalid title: send"));
    }
    assert_eq!(world.ask("anna", "PATCH", "/api/chat/c", Some(&json!([]))).await.status, 400);
    assert_eq!(list(&world, "anna", "").await[0].1.as_deref(), Some("first"));
}

#[tokio::test]
async fn a_stateless_server_has_no_chats() {
    let keys = Keyring::new("test", Key::from_bytes([7; 32]));
    let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    let router = Server::new(agent).stateless(&keys, "desk", std::sync::Arc::new(MemoryNonces::new())).router();
    for (method, path) in [("GET", "chats"), ("GET", "chat/c"), ("DELETE", "chat/c"), ("PATCH", "chat/c")] {
        let request = axum::http::Request::builder().method(method).uri(format!("http://localhost/api/{path}"));
        let body = axum::body::Body::from(if method == "PATCH" { r#"{"title":"x"}"# } else { "" });
        let request = request.header("content-type", "application/json").body(body).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method} {path}");
        let bytes = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("its clients keep them"), "{method} {path}: {bytes:?}");
    }
}

//! Tests of requests that arrive during a response.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body, http::Request};
use serde_json::json;
use tokio::sync::Semaphore;
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, Server};
use tower::ServiceExt;

use crate::{
    kit::{input, post, user},
    model::{Step, play},
    tools::working,
};

fn server() -> (Router, Arc<Semaphore>) {
    let (tools, done) = working();
    let agent = Agent::new(FunctionModel::streaming(play)).tools(tools);
    (Server::new(agent).ag_ui(AgUi::new()).router(), done)
}

fn script(names: &[&str]) -> String {
    let turns: Vec<_> = names.iter().map(|name| vec![Step::Call((*name).to_owned()), Step::End(0)]).collect();
    serde_json::to_string(&turns).unwrap()
}

async fn get(router: &Router, path: &str) -> u16 {
    let request = Request::get(format!("http://localhost{path}")).body(Body::empty()).unwrap();
    router.clone().oneshot(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_result_that_is_sent_twice_stops_nothing() {
    let (router, done) = server();
    let prompt = user("m1", &script(&["locate", "work"]));
    let asked = post(&router, input("t", &json!([prompt]), &json!({}))).await;
    let id = asked.event("TOOL_CALL_START")["toolCallId"].clone();
    let result = json!({ "id": "r1", "role": "tool", "toolCallId": id, "content": "{\"at\":1}" });
    let send = |run: &'static str| {
        let (router, body) = (router.clone(), input("t", &json!([prompt, result]), &json!({ "runId": run })));
        tokio::spawn(async move { (run, post(&router, body).await) })
    };
    let first = send("first");
    while get(&router, "/agent/t/stream").await == 204 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = send("second");
    tokio::time::sleep(Duration::from_millis(50)).await;
    done.add_permits(1);
    for (run, response) in [first.await.unwrap(), second.await.unwrap()] {
        assert_eq!(response.event("TOOL_CALL_RESULT")["content"], "worked");
        assert_eq!(response.event("RUN_FINISHED")["outcome"]["type"], "success");
        let named = response.events().into_iter().filter(|event| event.get("runId").is_some());
        assert_eq!(named.map(|event| event["runId"].clone()).collect::<Vec<_>>(), [run, run]);
    }
}

//! Tests of the endpoint, one feature at a time.

use std::sync::{Arc, Mutex};

use axum::Router;
use serde_json::{Value, json};
use tool_run::tool::{is_valid_name, to_valid_name};
use tool_runtime::{
    Agent,
    model::{FunctionModel, OwnedRequest},
    toolset::{Permission, PolicyCall},
};
use tool_server::protocol::{Visibility, ag_ui::ArgumentCheck};
use tool_server::{AgUi, Server};

use crate::{
    ag_ui::legal::Known,
    kit::{Response, input, post, user},
    model::{Finish, Script, Step, play},
    tools::tools,
};

fn server(options: AgUi) -> Router {
    Server::new(Agent::new(FunctionModel::streaming(play)).tools(tools())).ag_ui(options).router()
}

fn call(name: &str, arguments: &str) -> Vec<Step> {
    vec![Step::Call(name.to_owned()), Step::Arguments(0, arguments.to_owned()), Step::End(0)]
}

async fn run(router: &Router, script: &Script, more: Value) -> Response {
    let prompt = user("m1", &serde_json::to_string(script).unwrap());
    let response = post(router, input("t", &json!([prompt]), &more)).await;
    let of_client: Vec<_> =
        more["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    Known::default().check(&response.events(), &[&of_client[..], &["locate", "share"]].concat(), true);
    response
}

#[tokio::test]
async fn reasoning_is_separate_and_tokens_are_counted() {
    let turn = vec![
        Step::Reasoning("Hm".to_owned()),
        Step::Reasoning("m.".to_owned()),
        Step::Text("So.".to_owned()),
        Step::Reasoning("But".to_owned()),
    ];
    let response = run(&server(AgUi::new()), &vec![turn], json!({})).await;
    assert_eq!(
        response.kinds(),
        [
            "RUN_STARTED",
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "RUN_FINISHED",
        ]
    );
    let usage = json!([{ "model": "function", "inputTokens": 7, "outputTokens": 3, "totalTokens": 10 }]);
    assert_eq!(response.event("RUN_FINISHED")["usage"], usage);
}

/// Some clients add all arguments to the call that began last, and some drop the arguments of every call but that one. So the
/// server writes calls one after the other, even if the model's pieces alternate.
#[tokio::test]
async fn parallel_calls_come_one_after_the_other() {
    let (a, b) = (r#"{"what":"a"}"#, r#"{"what":"b"}"#);
    let begins = || Step::Call("fine".to_owned());
    let adds = |number, text: &str| Step::Arguments(number, text.to_owned());
    let in_order = vec![begins(), adds(0, a), begins(), adds(1, b)];
    let mixed = vec![begins(), begins(), adds(0, &a[..5]), adds(1, b), adds(0, &a[5..])];
    let broken = vec![begins(), begins(), adds(1, b), adds(0, "{"), Step::End(1), Step::End(0)];
    for (turn, first) in [(in_order, a), (mixed, a), (broken, "{")] {
        let response = run(&server(AgUi::new()), &vec![turn], json!({})).await;
        let of_calls = response.events();
        let of_calls = of_calls
            .iter()
            .filter(|event| ["START", "ARGS", "END"].iter().any(|kind| event["type"] == format!("TOOL_CALL_{kind}")));
        let mut written: Vec<(String, String)> = Vec::new();
        for event in of_calls {
            let (kind, text) = (event["type"].as_str().unwrap(), event["delta"].as_str().unwrap_or_default());
            match written.last_mut() {
                Some((last, before)) if last == kind => before.push_str(text),
                _ => written.push((kind.to_owned(), text.to_owned())),
            }
        }
        let expected = [first, b].map(|text| ["TOOL_CALL_START", text, "TOOL_CALL_END"]);
        let written: Vec<_> = written.iter().map(|(kind, text)| if text.is_empty() { kind } else { text }).collect();
        assert_eq!(written, expected.concat());
    }
}

#[tokio::test]
async fn a_blank_message_is_refused() {
    let router = server(AgUi::new());
    for content in [json!(""), json!(" \n"), json!([]), json!([{ "type": "text", "text": " " }])] {
        let blank = json!({ "id": "m1", "role": "user", "content": content });
        let refused = post(&router, input("t", &json!([blank]), &json!({}))).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains("empty_message"), "{}", refused.text);
    }
    let turn = vec![Step::Text("Hi.".to_owned())];
    assert_eq!(run(&router, &vec![turn], json!({})).await.status, 200);
}

#[tokio::test]
async fn both_sides_have_one_state() {
    let script = vec![[call("draw", r#"{"what":"a cat"}"#), Vec::new()].concat(), call("draw", r#"{"what":"a dog"}"#)];
    let response = run(&server(AgUi::new()), &script, json!({ "state": { "drawn": ["a sun"] } })).await;
    let deltas: Vec<_> = response.events().into_iter().filter(|event| event["type"] == "STATE_DELTA").collect();
    let patches: Vec<_> = deltas.iter().map(|event| event["delta"].clone()).collect();
    assert_eq!(
        patches,
        [
            json!([{ "op": "add", "path": "/drawn/1", "value": "a cat" }]),
            json!([{ "op": "add", "path": "/drawn/2", "value": "a dog" }]),
        ]
    );
    assert_eq!(response.event("CUSTOM")["value"]["what"], "a cat");
    assert_eq!(response.event("TOOL_CALL_RESULT")["content"], "2");
}

#[tokio::test]
async fn progress_is_shown() {
    let response = run(&server(AgUi::new()), &vec![call("eager", "{}")], json!({})).await;
    let activity = response.event("ACTIVITY_SNAPSHOT");
    assert_eq!(activity["activityType"], "tool_progress");
    assert_eq!(activity["content"]["done"], 1.0);
    assert_eq!(activity["content"]["message"], "half");
}

/// The server sends a large preliminary output once, and then its changes, as patches of the output that the client has.
#[tokio::test]
async fn progress_that_grows_is_patched() {
    let response = run(&server(AgUi::new()), &vec![call("grows", "{}")], json!({})).await;
    let (mut shown, mut patched) = (Vec::new(), 0);
    for event in response.events() {
        match event["type"].as_str() {
            Some("ACTIVITY_SNAPSHOT") => shown = event["content"]["preliminary"].as_array().expect("a list").clone(),
            Some("ACTIVITY_DELTA") => {
                patched += 1;
                for change in event["patch"].as_array().expect("a JSON Patch") {
                    let place = format!("/preliminary/{}", shown.len());
                    assert_eq!((&change["op"], &change["path"]), (&json!("add"), &json!(place)));
                    shown.push(change["value"].clone());
                }
            }
            _ => {}
        }
    }
    assert!(patched > 0, "{}", response.text);
    assert_eq!(shown, ["a", "b", "c", "d"].map(|line| json!(line.repeat(1_000))));
}

#[tokio::test]
async fn hidden_arguments_reach_no_client() {
    for (visibility, kinds) in [(Visibility::Shown, 4), (Visibility::WithoutResult, 4), (Visibility::Hidden, 0)] {
        let hides = move |spec: &tool_runtime::ToolSpec| match spec.name.as_str() {
            "secret" => visibility,
            _ => Visibility::Shown,
        };
        let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
        let router = Server::new(agent).ag_ui(AgUi::new()).visibility(hides).router();
        let response = run(&router, &vec![call("secret", "{}")], json!({})).await;
        assert_eq!(response.text.contains("Main Street"), visibility == Visibility::Shown);
        assert_eq!(response.kinds().iter().filter(|kind| kind.starts_with("TOOL_CALL")).count(), kinds);
    }
}

#[tokio::test]
async fn rejected_arguments_reach_no_client() {
    let paint = json!({
        "name": "paint",
        "description": "d",
        "parameters": { "type": "object", "properties": { "colour": { "enum": ["red"] } }, "required": ["colour"] },
    });
    let wrong_then_right = vec![call("paint", r#"{"colour":"blue"}"#), call("paint", r#"{"colour":"red"}"#)];
    let router = server(AgUi::new().check(ArgumentCheck::Reject));
    let response = run(&router, &wrong_then_right, json!({ "tools": [paint] })).await;
    let deltas: Vec<_> = response.events().into_iter().filter(|event| event["type"] == "TOOL_CALL_ARGS").collect();
    assert_eq!(deltas.len(), 1, "{}", response.text);
    assert_eq!(deltas[0]["delta"], r#"{"colour":"red"}"#);
}

#[tokio::test]
async fn a_call_of_the_browser_is_announced_after_its_approval() {
    let router = server(AgUi::new());
    let response = run(&router, &vec![call("share", r#"{"window":"mail"}"#)], json!({})).await;
    assert_eq!(response.kinds(), ["RUN_STARTED", "RUN_FINISHED"]);
    let interrupt = response.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    assert_eq!(interrupt["reason"], "confirmation");
    assert_eq!(interrupt["metadata"]["arguments"]["window"], "mail");
    assert!(interrupt.get("toolCallId").is_none());
    let resume = json!({ "resume": [{ "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true } }] });
    let resumed = post(&router, input("t", &json!([]), &resume)).await;
    let kinds = ["RUN_STARTED", "CUSTOM", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"];
    assert_eq!(resumed.kinds(), kinds);
    let id = resumed.event("TOOL_CALL_START")["toolCallId"].clone();
    assert_eq!(resumed.event("RUN_FINISHED")["outcome"]["pendingToolCallIds"], json!([id]));
    // The tool's output has a type. An output of another type fails the call, and the conversation goes on.
    let wrong = json!([{ "id": "r", "role": "tool", "toolCallId": id, "content": "{\"not\":\"a list\"}" }]);
    let failed = post(&router, input("t", &wrong, &json!({}))).await;
    assert!(failed.text.contains("\"delta\":\"done\""), "{}", failed.text);
    assert!(failed.event("RUN_STARTED")["metadata"]["warnings"].to_string().contains("expected"));
}

#[tokio::test]
async fn a_tool_asks_in_the_middle_of_its_work() {
    let router = server(AgUi::new());
    let first = run(&router, &vec![call("asks_within", "{}")], json!({})).await;
    let asked = first.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    assert_eq!(
        (asked["reason"].as_str(), asked["message"].as_str()),
        (Some("input_required"), Some("What is your name?"))
    );
    assert_eq!(asked["responseSchema"]["type"], "string");
    let answer = |id: &Value, payload: Value| {
        input("t", &json!([]), &json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": payload }] }))
    };
    let second = post(&router, answer(&asked["id"], json!("Ada"))).await;
    let asked = second.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    assert_eq!((asked["reason"].as_str(), asked["message"].as_str()), (Some("confirmation"), Some("Really?")));
    let third = post(&router, answer(&asked["id"], json!({ "approved": true }))).await;
    assert_eq!(third.event("TOOL_CALL_RESULT")["content"], "hello Ada");
}

#[tokio::test]
async fn a_turn_that_was_cut_off_calls_nothing() {
    let mut turn = call("fine", "{}");
    turn.push(Step::Finish(Finish::Length));
    let response = run(&server(AgUi::new()), &vec![turn], json!({})).await;
    assert!(response.event("TOOL_CALL_RESULT")["content"].as_str().unwrap().contains("did not run"));
    assert_eq!(response.event("RUN_FINISHED")["metadata"]["finishReason"], "length");
}

#[tokio::test]
async fn other_principals_cannot_continue_a_conversation() {
    let tokens = |token: &str| (token.len() < 9).then(|| token.into());
    let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
    let router = Server::new(agent).ag_ui(AgUi::new()).authenticate(tool_server::BearerToken::new(tokens)).router();
    let ask = async |token: &str, body: String| {
        let request = axum::http::Request::post("http://localhost/agent")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        let response = tower::ServiceExt::oneshot(router.clone(), request.body(axum::body::Body::from(body)).unwrap())
            .await
            .unwrap();
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
    };
    let script = serde_json::to_string(&vec![call("asks", r#"{"what":"all"}"#)]).unwrap();
    let asked = ask("anna", input("t", &json!([user("m1", &script)]), &json!({}))).await;
    let id = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let resume = json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }] });
    let stolen = ask("bert", input("t", &json!([]), &resume)).await;
    assert!(!stolen.text.contains("removed"), "{}", stolen.text);
    assert_eq!(ask("0123456789", input("t", &json!([]), &resume)).await.status, 401);
    let resumed = ask("anna", input("t", &json!([]), &resume)).await;
    assert_eq!(resumed.event("TOOL_CALL_RESULT")["content"], "removed all");
}

#[tokio::test]
async fn a_model_reads_valid_names_and_all_others_those_of_the_page() {
    let offered = to_valid_name("files.open");
    let page = json!([{ "name": "files.open", "description": "d" }, { "name": "no params", "description": "d" }]);
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let requests = Arc::clone(&seen);
    let model = FunctionModel::streaming(move |request: OwnedRequest| {
        let names = request.tools.clone();
        requests.lock().unwrap().push(names);
        play(request)
    });
    let policy = |call: &PolicyCall<'_>| match &*call.spec.name {
        "files.open" => Permission::Ask,
        _ => Permission::Allow,
    };
    let agent = Agent::new(model).policy(policy);
    let router = Server::new(agent).ag_ui(AgUi::new()).router();
    let asked = run(&router, &vec![call(&offered, "{}")], json!({ "tools": page })).await;
    let names = seen.lock().unwrap().last().unwrap().clone();
    assert!(names.contains(&offered.clone().into_owned()), "{names:?}");
    assert!(names.len() == 2 && names.iter().all(|name| is_valid_name(name)), "{names:?}");
    let interrupt = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    assert_eq!(interrupt["metadata"]["tool"], "files.open", "{interrupt}");
    // The page declares another tool before the decision: the one that waits keeps its name.
    let more = json!({
        "tools": [{ "name": offered, "description": "another" }, page[0]],
        "resume": [{ "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true } }],
    });
    let started = post(&router, input("t", &json!([]), &more)).await;
    let begun = started.event("TOOL_CALL_START");
    assert_eq!(begun["toolCallName"], "files.open", "{}", started.text);
    let result = json!([{ "id": "r", "role": "tool", "toolCallId": begun["toolCallId"], "content": "opened" }]);
    let done = post(&router, input("t", &result, &json!({ "tools": page }))).await;
    assert!(done.text.contains("\"delta\":\"done\""), "{}", done.text);
}

//! Tests of requests that decide nothing while a run waits for a decision.

use axum::Router;
use serde_json::{Value, json};
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, Server};

use crate::{
    kit::{Response, input, post, post_to, user},
    model::{Step, play},
    tools::tools,
};

fn server() -> Router {
    Server::new(Agent::new(FunctionModel::streaming(play)).tools(tools())).ag_ui(AgUi::new()).router()
}

fn call(name: &str, arguments: &str) -> Vec<Step> {
    vec![Step::Call(name.to_owned()), Step::Arguments(0, arguments.to_owned()), Step::End(0)]
}

fn entry(id: &Value, payload: &Value) -> Value {
    json!({ "interruptId": id, "status": "resolved", "payload": payload })
}

fn approve(id: &Value) -> Value {
    entry(id, &json!({ "approved": true }))
}

/// Returns the messages that a client has after `response` to `prompt`.
fn messages_after(prompt: &Value, response: &Response) -> Value {
    let started = response.events().into_iter().filter(|event| event["type"] == "TOOL_CALL_START");
    let calls: Vec<_> = started
        .map(|event| {
            let function = json!({ "name": event["toolCallName"], "arguments": "{}" });
            json!({ "id": event["toolCallId"], "type": "function", "function": function })
        })
        .collect();
    json!([prompt, { "id": "a1", "role": "assistant", "toolCalls": calls }])
}

/// Returns the messages and `resume` entries of requests that decide nothing about the interrupt `id`, in all combinations.
fn undecided_requests(prompt: &Value, asked: &Response, id: &Value) -> Vec<(Value, Value)> {
    let kept = messages_after(prompt, asked);
    let stray = json!({ "id": "r1", "role": "tool", "toolCallId": "call_nobody", "content": "yes" });
    let histories = [
        json!([]),
        json!([prompt]),
        kept.clone(),
        json!([kept[0], kept[1], stray]),
        json!([kept[0], kept[1], user("m2", "more")]),
        json!([user("", "no id")]),
    ];
    let unknown = json!("nobody.1");
    let resumes = [
        json!([]),
        json!([approve(&unknown)]),
        json!([{ "interruptId": unknown, "status": "cancelled" }, approve(&json!(""))]),
        json!([{ "interruptId": id, "status": "resolved" }]),
        json!([entry(id, &json!({ "approved": true, "editedArgs": 7 }))]),
        json!([entry(id, &json!({ "approved": true, "editedArgs": { "what": 7 } }))]),
    ];
    histories.iter().flat_map(|history| resumes.iter().map(|resume| (history.clone(), resume.clone()))).collect()
}

#[tokio::test]
async fn a_request_that_decides_nothing_ends_with_the_open_interrupts() {
    let router = server();
    for (name, arguments) in [("asks", r#"{"what":"all"}"#), ("share", r#"{"window":"mail"}"#), ("asks_within", "{}")] {
        let prompt = user("m1", &serde_json::to_string(&vec![call(name, arguments)]).unwrap());
        let mut number = 0;
        loop {
            let thread = format!("{name}-{number}");
            let asked = post(&router, input(&thread, &json!([prompt]), &json!({}))).await;
            let open = asked.event("RUN_FINISHED")["outcome"].clone();
            assert_eq!(open["type"], "interrupt", "{}", asked.text);
            let mut requests = undecided_requests(&prompt, &asked, &open["interrupts"][0]["id"]);
            if number == requests.len() {
                break;
            }
            let (history, resume) = requests.swap_remove(number);
            for (protocol, reason) in [(json!("1.0"), "tool_call"), (Value::Null, "confirmation")] {
                // A client before 1.0 would answer the reason `tool_call` with the call's result, so the reason differs.
                let mut open = open.clone();
                if open["interrupts"][0]["reason"] == "tool_call" {
                    open["interrupts"][0]["reason"] = reason.into();
                }
                let more = json!({ "resume": resume, "protocolVersion": protocol, "runId": format!("of {protocol}") });
                let response = post(&router, input(&thread, &history, &more)).await;
                // A client that has nothing of the answer gets it.
                let has_nothing = history == json!([prompt]) && resume == json!([]);
                let kinds = response.kinds();
                assert_eq!(
                    kinds.iter().any(|kind| kind == "MESSAGES_SNAPSHOT"),
                    has_nothing,
                    "{history} {more}: {}",
                    response.text
                );
                if !has_nothing {
                    assert_eq!(kinds, ["RUN_STARTED", "RUN_FINISHED"], "{history} {more}: {}", response.text);
                }
                let is_of_interrupt = resume[0]["interruptId"] == open["interrupts"][0]["id"];
                let refusal = without_refusal(&mut response.event("RUN_FINISHED")["outcome"], &open);
                assert_eq!(refusal.is_some(), is_of_interrupt, "{refusal:?}");
            }
            number += 1;
        }
    }
}

/// Asserts that `outcome` is `open`, apart from a refusal in its first interrupt. Returns the refusal.
fn without_refusal(outcome: &mut Value, open: &Value) -> Option<Value> {
    let interrupt = &mut outcome["interrupts"][0];
    let refusal = interrupt["metadata"].as_object_mut().and_then(|metadata| metadata.remove("refusal"));
    if let Some(refusal) = &refusal {
        let (refusal, message) = (refusal.as_str().unwrap(), interrupt["message"].as_str().unwrap());
        interrupt["message"] = message.strip_prefix(refusal).unwrap().trim_start().into();
    }
    assert_eq!(outcome, open);
    refusal
}

/// Another device has decided, so the client must not go on showing its own decision.
#[tokio::test]
async fn a_late_decision_gets_the_one_that_counted_and_the_rest() {
    let router = server();
    for first in
        [json!({ "approved": false, "reason": "no" }), json!({ "approved": true, "editedArgs": { "what": "it" } })]
    {
        let is_denied = first["approved"] == false;
        let thread = format!("denied {is_denied}");
        let prompt = user("m1", &serde_json::to_string(&vec![call("asks", r#"{"what":"all"}"#)]).unwrap());
        let asked = post(&router, input(&thread, &json!([prompt]), &json!({}))).await;
        let id = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
        let mut kept = messages_after(&prompt, &asked);
        let decided = post(&router, input(&thread, &kept, &json!({ "resume": [entry(&id, &first)] }))).await;
        let late = post(&router, input(&thread, &kept, &json!({ "resume": [approve(&id)] }))).await;
        let rest = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];
        assert_eq!(late.kinds(), [&["RUN_STARTED", "CUSTOM", "TOOL_CALL_RESULT"][..], &rest].concat(), "{}", late.text);
        let decision = late.event("CUSTOM")["value"].clone();
        assert_eq!(decision["decision"], if is_denied { "deny" } else { "edit" });
        // The page of each client shows the arguments with which the call ran.
        let arguments = if is_denied { Value::Null } else { json!({ "what": "it" }) };
        assert_eq!((&decision["arguments"], &decided.event("CUSTOM")["value"]["arguments"]), (&arguments, &arguments));
        let result = decided.event("TOOL_CALL_RESULT");
        assert_eq!(late.event("TOOL_CALL_RESULT")["content"], result["content"]);
        // A client that has the result gets it once.
        let content =
            json!({ "id": "r1", "role": "tool", "toolCallId": result["toolCallId"], "content": result["content"] });
        kept.as_array_mut().unwrap().push(content);
        let twice = post(&router, input(&thread, &kept, &json!({ "resume": [approve(&id)] }))).await;
        assert_eq!(twice.kinds(), [&["RUN_STARTED", "CUSTOM"][..], &rest].concat(), "{}", twice.text);
    }
}

/// Clients of 0.x differ in the reason that they expect, so each kind has a path of its own.
#[tokio::test]
async fn each_path_has_its_own_reason() {
    let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
    let other = AgUi::new().path("/assistant-ui").tool_call_reason(true);
    let router = Server::new(agent).ag_ui(AgUi::new()).ag_ui(other).router();
    let prompt = user("m1", &serde_json::to_string(&vec![call("asks", r#"{"what":"all"}"#)]).unwrap());
    for (path, version, reason) in [
        ("/agent", Value::Null, "confirmation"),
        ("/agent", json!("1.0"), "tool_call"),
        ("/assistant-ui", Value::Null, "tool_call"),
    ] {
        let body = input(&format!("{path} {reason}"), &json!([prompt]), &json!({ "protocolVersion": version }));
        let asked = post_to(&router, path, body).await;
        let interrupt = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
        assert_eq!(interrupt["reason"], reason, "{path} {version}");
        // The names that TanStack AI reads.
        let metadata = &interrupt["metadata"];
        let known = [&metadata["kind"], &metadata["toolName"], &metadata["input"]];
        assert_eq!(known, [&json!("approval"), &json!("asks"), &json!({ "what": "all" })]);
    }
}

/// Clients of 1.0 find the calls that they have to execute in `pendingToolCallIds`. Those of 0.x refuse that member.
#[tokio::test]
async fn a_client_of_0_x_receives_an_event_for_each_call_that_it_executes() {
    let router = server();
    for (version, has_events) in [(Value::Null, true), (json!("0.0.59"), true), (json!("1.0"), false)] {
        let thread = version.to_string();
        let share =
            vec![Step::Call("share".to_owned()), Step::Arguments(1, r#"{"window":"mail"}"#.to_owned()), Step::End(1)];
        let prompt = user("m1", &serde_json::to_string(&vec![[call("locate", "{}"), share].concat()]).unwrap());
        let version = json!({ "protocolVersion": version });
        let asked = post(&router, input(&thread, &json!([prompt]), &version)).await;
        let inputs = |response: &Response| {
            let all = response.events().into_iter().filter(|event| event["name"] == "tool-input-available");
            all.map(|event| event["value"].clone()).collect::<Vec<_>>()
        };
        let calls: Vec<_> = asked.events().into_iter().filter(|event| event["type"] == "TOOL_CALL_START").collect();
        let located = json!({ "toolCallId": calls[0]["toolCallId"], "toolName": "locate", "input": {} });
        assert_eq!(inputs(&asked), if has_events { vec![located] } else { vec![] }, "{}", asked.text);
        // The second call needs an approval first.
        let id = &asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"];
        let mut more = version;
        more["resume"] = json!([approve(id)]);
        let approved = post(&router, input(&thread, &messages_after(&prompt, &asked), &more)).await;
        let start = approved.event("TOOL_CALL_START");
        let shared = json!({ "toolCallId": start["toolCallId"], "toolName": "share", "input": { "window": "mail" } });
        assert_eq!(inputs(&approved), if has_events { vec![shared] } else { vec![] }, "{}", approved.text);
    }
}

/// The page may send the results of its calls one by one.
#[tokio::test]
async fn the_first_result_waits_for_the_second() {
    let router = server();
    let turn = [call("locate", "{}"), vec![Step::Call("locate".to_owned()), Step::End(1)]].concat();
    let prompt = user("m1", &serde_json::to_string(&vec![turn]).unwrap());
    let asked = post(&router, input("t", &json!([prompt]), &json!({}))).await;
    let mut messages = messages_after(&prompt, &asked);
    let calls = messages[1]["toolCalls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 2, "{}", asked.text);
    let mut give = async |at: usize| {
        let result =
            json!({ "id": format!("r{at}"), "role": "tool", "toolCallId": calls[at]["id"], "content": "\"here\"" });
        messages.as_array_mut().unwrap().push(result);
        post(&router, input("t", &messages, &json!({}))).await
    };
    let first = give(1).await;
    assert_eq!(first.kinds(), ["RUN_STARTED", "RUN_FINISHED"], "{}", first.text);
    let second = give(0).await;
    assert_eq!(second.event("TEXT_MESSAGE_CONTENT")["delta"], "done", "{}", second.text);
    assert!(!second.text.contains("warnings"), "{}", second.text);
}

/// A refused decision does not affect the results beside it, and the client can send an ignored message again.
#[tokio::test]
async fn after_a_refused_decision_the_message_can_be_sent_again() {
    let router = server();
    let turn = vec![
        Step::Call("asks".to_owned()),
        Step::Arguments(0, r#"{"what":"all"}"#.to_owned()),
        Step::End(0),
        Step::Call("locate".to_owned()),
        Step::End(1),
    ];
    let prompt = user("m1", &serde_json::to_string(&vec![turn]).unwrap());
    let asked = post(&router, input("t", &json!([prompt]), &json!({}))).await;
    let id = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let kept = messages_after(&prompt, &asked);
    let history = json!([kept[0], kept[1], user("m2", "more")]);
    let edited = entry(&id, &json!({ "approved": true, "editedArgs": { "what": 7 } }));
    let refused = post(&router, input("t", &history, &json!({ "resume": [edited] }))).await;
    let open = asked.event("RUN_FINISHED")["outcome"].clone();
    let refusal = without_refusal(&mut refused.event("RUN_FINISHED")["outcome"], &open).expect("the reason");
    assert!(refusal.as_str().unwrap().contains("expected a string"), "{refusal}");
    let warnings = refused.event("RUN_STARTED")["metadata"]["warnings"].to_string();
    assert!(warnings.contains("expected a string") && warnings.contains("send it again"), "{warnings}");
    assert!(!warnings.contains("was not answered"), "{warnings}");
    let accepted = post(&router, input("t", &history, &json!({ "resume": [approve(&id)] }))).await;
    assert_eq!(accepted.event("TOOL_CALL_RESULT")["content"], "removed all");
    assert_eq!(accepted.event("TEXT_MESSAGE_CONTENT")["delta"], "done");
}

/// An answer removes no prompt that is newer than the client's last message.
#[tokio::test]
async fn an_answer_with_an_old_history_regenerates_nothing() {
    let router = server();
    let first = user("m1", &serde_json::to_string(&vec![vec![Step::Text("One.".to_owned())]]).unwrap());
    post(&router, input("t", &json!([first]), &json!({}))).await;
    let second = user("m2", &serde_json::to_string(&vec![call("asks", r#"{"what":"all"}"#)]).unwrap());
    let asked = post(&router, input("t", &json!([first, second]), &json!({}))).await;
    let id = asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let old = async |resume: Value| post(&router, input("t", &json!([first]), &json!({ "resume": [resume] }))).await;
    let unknown = old(approve(&json!("nobody.1"))).await;
    assert_eq!(unknown.event("RUN_FINISHED")["outcome"], asked.event("RUN_FINISHED")["outcome"], "{}", unknown.text);
    assert_eq!(old(approve(&id)).await.event("TOOL_CALL_RESULT")["content"], "removed all");
}

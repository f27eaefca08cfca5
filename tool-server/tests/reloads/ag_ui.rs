//! A page of AG-UI: it reads events, shows their content, and builds the members of requests.

use serde_json::{Value, json};

use super::page::{Answer, Open, Shown};

/// Reads an event.
pub(crate) fn read(shown: &mut Shown, event: &Value) {
    let messages = &mut shown.messages;
    let id = &event["messageId"];
    match event["type"].as_str().unwrap() {
        "RUN_STARTED" => (shown.interrupts, shown.pending, shown.error) = Default::default(),
        "MESSAGES_SNAPSHOT" => *messages = event["messages"].as_array().unwrap().clone(),
        "TEXT_MESSAGE_START" => add(messages, json!({ "id": id, "role": "assistant", "content": "" })),
        "REASONING_MESSAGE_START" => add(messages, json!({ "id": id, "role": "reasoning", "content": "" })),
        "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
            let message = messages.iter_mut().rfind(|message| message["id"] == *id).expect("a message");
            append(&mut message["content"], &event["delta"]);
        }
        "TOOL_CALL_START" => {
            let function = json!({ "name": event["toolCallName"], "arguments": "" });
            let call = json!({ "id": event["toolCallId"], "type": "function", "function": function });
            let parent = &event["parentMessageId"];
            match messages.iter_mut().rfind(|message| message["id"] == *parent) {
                Some(message) if message["toolCalls"].is_array() => {
                    message["toolCalls"].as_array_mut().unwrap().push(call);
                }
                Some(message) => message["toolCalls"] = json!([call]),
                None => messages.push(json!({ "id": parent, "role": "assistant", "toolCalls": [call] })),
            }
        }
        "TOOL_CALL_ARGS" => {
            let calls =
                messages.iter_mut().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut()).flatten();
            let call = calls.into_iter().find(|call| call["id"] == event["toolCallId"]).expect("a call");
            append(&mut call["function"]["arguments"], &event["delta"]);
        }
        "TOOL_CALL_RESULT" => {
            let (call, content) = (&event["toolCallId"], &event["content"]);
            add(messages, json!({ "id": id, "role": "tool", "toolCallId": call, "content": content }));
        }
        "REASONING_ENCRYPTED_VALUE" => {
            let keeper = messages.iter_mut().find(|message| message["id"] == event["entityId"]).expect("a message");
            keeper["encryptedValue"] = event["encryptedValue"].clone();
        }
        "CUSTOM" if event["name"] == "tool_decision" => {
            let text = |name: &str| event["value"][name].as_str().unwrap().to_owned();
            shown.decided.entry(text("toolCallId")).or_default().push(text("by"));
        }
        "RUN_FINISHED" => {
            let list = |name: &str| event["outcome"][name].as_array().cloned().unwrap_or_default();
            shown.interrupts = list("interrupts");
            shown.pending = list("pendingToolCallIds").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        }
        "RUN_ERROR" => shown.error = Some(event["message"].to_string()),
        _ => {}
    }
}

/// Adds a message, which must be new to the page.
fn add(messages: &mut Vec<Value>, message: Value) {
    assert!(messages.iter().all(|known| known["id"] != message["id"]), "twice: {message}");
    messages.push(message);
}

fn append(text: &mut Value, more: &Value) {
    *text = format!("{}{}", text.as_str().unwrap(), more.as_str().unwrap()).into();
}

fn calls(shown: &Shown) -> impl Iterator<Item = &Value> {
    shown.messages.iter().filter_map(|message| message["toolCalls"].as_array()).flatten()
}

fn result<'a>(shown: &'a Shown, call: &Value) -> Option<&'a Value> {
    let message = shown.messages.iter().find(|message| message["role"] == "tool" && message["toolCallId"] == *call);
    message.map(|message| &message["content"])
}

pub(crate) fn states(shown: &Shown, is_reading: bool) -> Vec<String> {
    let asked = |call: &Value| shown.interrupts.iter().any(|open| open["toolCallId"] == *call);
    let state = |call: &Value| match result(shown, &call["id"]) {
        Some(_) => "result",
        None if asked(&call["id"]) => "asked",
        None if shown.pending.iter().any(|id| call["id"] == **id) => "pending",
        None if !is_reading => "waits for another",
        None if serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap()).is_err() => "arguments",
        None => "runs",
    };
    calls(shown).map(|call| state(call).to_owned()).collect()
}

pub(crate) fn open_requests(shown: &Shown) -> Vec<Open> {
    let interrupt = |open: &Value| {
        let id = open["id"].as_str().unwrap().to_owned();
        if open["reason"] == "input_required" { Open::Question(id) } else { Open::Approval(id) }
    };
    let pending = shown.pending.iter().filter(|id| result(shown, &json!(id)).is_none());
    shown.interrupts.iter().map(interrupt).chain(pending.cloned().map(Open::Execute)).collect()
}

pub(crate) fn answer(shown: &mut Shown, open: &Open, answer: Answer) -> Value {
    let (id, payload) = match open {
        Open::Approval(id) => (id, json!({ "approved": answer == Answer::Yes })),
        Open::Question(id) => (id, json!("Anna")),
        Open::Execute(id) => {
            let content = r#"{"found":true}"#;
            let result = json!({ "id": format!("of-{id}"), "role": "tool", "toolCallId": id, "content": content });
            shown.messages.push(result);
            return json!({});
        }
    };
    json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": payload }] })
}

pub(crate) fn view(shown: &Shown) -> Vec<String> {
    let (mut view, mut calls) = (Vec::new(), Vec::new());
    for message in shown.messages.iter().filter(|message| message["role"] != "tool") {
        if message["role"] == "user" {
            view.append(&mut calls);
        }
        view.extend(message.get("content").map(|content| format!("{} {content}", message["role"])));
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            // The response to a message that superseded a call of the client does not report the call's end to the client.
            let is_of_client = |content: &&Value| **content != "the application gave no result of the call";
            let result = result(shown, &call["id"]).filter(is_of_client);
            let result = result.map_or_else(|| "without a result".to_owned(), Value::to_string);
            // The calls come after the texts, because a stream and a snapshot have a client's call at different places.
            calls.push(format!("  {} {} {result}", call["id"], call["function"]));
        }
    }
    view.append(&mut calls);
    view
}

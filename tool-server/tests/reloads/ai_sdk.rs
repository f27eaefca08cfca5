//! A page of the AI SDK: it reads chunks, shows their content, and builds the members of requests.

use serde_json::{Map, Value, json};

use super::page::{Answer, Open, Shown};

/// Reads a chunk.
pub(crate) fn read(shown: &mut Shown, chunk: &Value, is_replay: bool) {
    let kind = chunk["type"].as_str().unwrap();
    if kind == "start" {
        let id = &chunk["messageId"];
        match shown.messages.last_mut().filter(|last| last["role"] == "assistant" && last["id"] == *id) {
            Some(last) if is_replay => last["parts"] = json!([]),
            Some(_) => {}
            None => shown.messages.push(json!({ "id": id, "role": "assistant", "parts": [] })),
        }
        shown.error = None;
        return;
    }
    let message = shown.messages.last_mut().filter(|last| last["role"] == "assistant").expect("a message");
    if let Some(metadata) = chunk.get("messageMetadata") {
        message["metadata"] = metadata.clone();
    }
    let parts = message["parts"].as_array_mut().unwrap();
    match kind {
        "text-start" | "reasoning-start" => {
            let kind = kind.trim_end_matches("-start");
            parts.push(json!({ "type": kind, "text": "", "chunk": chunk["id"] }));
        }
        "text-delta" | "reasoning-delta" => {
            let part = parts.iter_mut().rfind(|part| part["chunk"] == chunk["id"]).expect("an open text");
            part["text"] = format!("{}{}", part["text"].as_str().unwrap(), chunk["delta"].as_str().unwrap()).into();
        }
        "data-question" => parts.push(json!({ "type": kind, "id": chunk["id"], "data": chunk["data"] })),
        "error" | "abort" => shown.error = Some(chunk.to_string()),
        "start-step" => parts.push(json!({ "type": "step-start" })),
        "tool-approval-response" => {
            let id = &chunk["approvalId"];
            let part = parts.iter_mut().find(|part| part["approval"]["id"] == *id).expect("a request");
            part["state"] = "approval-responded".into();
            part["approval"]["approved"] = chunk["approved"].clone();
            part["callProviderMetadata"] = chunk["providerMetadata"].clone();
            read_decisions(shown);
        }
        _ if kind.starts_with("tool-") => read_call(parts, kind, chunk),
        _ => {}
    }
}

/// Reads a chunk about a call.
fn read_call(parts: &mut Vec<Value>, kind: &str, chunk: &Value) {
    let id = &chunk["toolCallId"];
    let at = parts.iter().rposition(|part| part["toolCallId"] == *id).unwrap_or_else(|| {
        let name = chunk["toolName"].as_str().expect("a name");
        parts.push(json!({ "type": format!("tool-{name}"), "toolCallId": id }));
        parts.len() - 1
    });
    let part: &mut Map<String, Value> = parts[at].as_object_mut().unwrap();
    let state = match kind {
        "tool-input-start" => "input-streaming",
        "tool-input-delta" => {
            let so_far = part.get("rawInput").and_then(Value::as_str).unwrap_or_default();
            let text = format!("{so_far}{}", chunk["inputTextDelta"].as_str().unwrap());
            part.extend(serde_json::from_str(&text).ok().map(|input: Value| ("input".to_owned(), input)));
            part.insert("rawInput".to_owned(), text.into());
            return;
        }
        "tool-input-available" => "input-available",
        "tool-approval-request" => "approval-requested",
        "tool-output-available" => "output-available",
        "tool-output-error" | "tool-input-error" => "output-error",
        "tool-output-denied" => "output-denied",
        other => panic!("an unknown chunk: {other}"),
    };
    part.insert("state".to_owned(), state.into());
    for name in ["input", "output", "errorText"] {
        part.extend(chunk.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    if state == "approval-requested" {
        part.insert("approval".to_owned(), json!({ "id": chunk["approvalId"] }));
    } else if state != "input-streaming" {
        part.remove("rawInput");
    }
}

/// Notes the principals that have decided calls, according to the calls' parts.
pub(crate) fn read_decisions(shown: &mut Shown) {
    for part in shown.messages.iter().filter_map(|message| message["parts"].as_array()).flatten() {
        if let Some(by) = part["callProviderMetadata"]["tool"]["decidedBy"].as_str() {
            let id = part["toolCallId"].as_str().unwrap().to_owned();
            shown.decided.insert(id, vec![by.to_owned()]);
        }
    }
}

fn calls(shown: &Shown) -> impl DoubleEndedIterator<Item = &Map<String, Value>> {
    let parts = shown.messages.iter().filter_map(|message| message["parts"].as_array()).flatten();
    parts.filter_map(Value::as_object).filter(|part| part.contains_key("toolCallId"))
}

pub(crate) fn states(shown: &Shown) -> Vec<String> {
    calls(shown).map(|part| part["state"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn open_requests(shown: &Shown) -> Vec<Open> {
    let Some(last) = shown.messages.last().filter(|last| last["role"] == "assistant") else { return Vec::new() };
    let parts = last["parts"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let state = |call: &Value| {
        parts.iter().find(|part| part["toolCallId"] == *call).map_or("", |part| part["state"].as_str().unwrap())
    };
    let mut open = Vec::new();
    for part in parts {
        match part["type"].as_str().unwrap() {
            "data-question" if state(&part["data"]["toolCallId"]) == "input-available" => {
                open.push(Open::Question(text(&part["id"])));
            }
            _ if part["state"] == "approval-requested" => open.push(Open::Approval(text(&part["approval"]["id"]))),
            "tool-locate" | "tool-share" | "tool-find" if part["state"] == "input-available" => {
                open.push(Open::Execute(text(&part["toolCallId"])));
            }
            _ => {}
        }
    }
    open
}

pub(crate) fn answer(shown: &mut Shown, open: &Open, answer: Answer) -> Value {
    let parts = shown.messages.iter_mut().filter_map(|message| message["parts"].as_array_mut()).flatten();
    match open {
        Open::Approval(id) => {
            let part = parts.into_iter().find(|part| part["approval"]["id"] == **id).expect("a request");
            part["state"] = "approval-responded".into();
            part["approval"]["approved"] = (answer == Answer::Yes).into();
        }
        Open::Execute(id) => {
            let part = parts.into_iter().find(|part| part["toolCallId"] == **id).expect("a call");
            part["state"] = "output-available".into();
            part["output"] = json!({ "found": true });
        }
        Open::Question(id) => return json!({ "decisions": { id: { "decision": "answer", "value": "Anna" } } }),
    }
    json!({})
}

pub(crate) fn view(shown: &Shown) -> Vec<String> {
    let mut view = Vec::new();
    for message in &shown.messages {
        view.push(format!("{}:", message["role"].as_str().unwrap()));
        for part in message["parts"].as_array().unwrap() {
            // A call of a nested agent is no call of this run. After it has ended, only the stream has it.
            let is_past = part["type"] == "tool-find" && part["state"] != "input-available";
            if let Some(id) = part.get("toolCallId").filter(|_| !is_past) {
                let get = |name: &str| part.get(name).map(Value::to_string).unwrap_or_default();
                // The AI SDK has an approval's decision in these states only. `Page::view` lists the open ones.
                let is_decided = part["state"] == "approval-responded" || part["state"] == "output-denied";
                let approved = part["approval"].get("approved").filter(|_| is_decided);
                let approved = approved.map(Value::to_string).unwrap_or_default();
                let input = if part.get("input").is_some() { get("input") } else { get("rawInput") };
                let all = ["type", "state", "output", "errorText"].map(get).join(" ");
                view.push(format!("  {id} {input} {all} {approved}"));
            } else if part["text"].as_str().is_some_and(|text| !text.is_empty()) {
                view.push(format!("  {} {}", part["type"], part["text"]));
            }
        }
    }
    // A message without parts is not shown.
    let is_empty = |at: usize, view: &[String]| {
        view[at] == "assistant:" && view.get(at + 1).is_none_or(|next| !next.starts_with("  "))
    };
    let kept: Vec<_> = (0..view.len()).filter(|at| !is_empty(*at, &view)).collect();
    kept.into_iter().map(|at| view[at].clone()).collect()
}

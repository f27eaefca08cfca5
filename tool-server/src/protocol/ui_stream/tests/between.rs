//! Messages between the turns of an answer, and calls of the model's provider.

use serde_json::{Value, json};

use super::{
    super::{Level, Settings},
    Sent, run_of, tools,
};
use crate::protocol::End;
use tool_runtime::agent::Event;
use tool_runtime::message::{Part, ProviderPart, ProviderPartKind};
use tool_runtime::run::{CallResult, Prompt, Time};

fn failed(level: Level, is_accepted: bool) -> Vec<Value> {
    let run = run_of(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let mut sent = Sent::new(Settings::new(tools()).level(level));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Text("I th"));
    for call in run.calls() {
        sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    }
    if is_accepted {
        sent.event(Event::CallAccepted(&run.calls()[0]));
    }
    sent.event(Event::StepFailed { error: "overloaded", again: true });
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Text("Yes."));
    sent.end(End::new(None, None))
}

fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

#[test]
fn a_turn_that_came_to_nothing_is_forgotten() {
    let all = failed(Level::V7, false);
    assert_eq!(
        kinds(&all)[4..],
        [
            "text-end",
            "tool-input-start",
            "tool-input-start",
            "reset-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ]
    );
    // Clients that cannot forget see that its calls came to nothing.
    let before = ["tool-input-error", "tool-input-error", "finish-step", "start-step", "text-start"];
    assert_eq!(kinds(&failed(Level::V6, false))[7..12], before);
}

#[test]
fn a_call_that_goes_on_keeps_its_place() {
    let all = failed(Level::V7, true);
    assert!(!kinds(&all).contains(&"reset-step"));
    assert_eq!(kinds(&all)[7..11], ["tool-input-available", "tool-input-error", "finish-step", "start-step"]);
    assert_eq!(all[8]["toolCallId"], "b");
}

#[test]
fn what_is_said_meanwhile_is_in_the_message() {
    let mut said = Prompt::new(
        vec![Part::text("No, Rome."), Part::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() }],
        "anna".into(),
        Time(0),
    );
    let first = said.clone();
    said.steers = true;
    let steered = |level| {
        let mut sent = Sent::new(Settings::new(tools()).level(level));
        sent.event(Event::Prompted(&first));
        sent.event(Event::StepStarted { step: 1 });
        sent.event(Event::Text("Paris"));
        sent.event(Event::Prompted(&said));
        sent.event(Event::StepStarted { step: 2 });
        sent.event(Event::Text("Rome"));
        sent.end(End::new(None, None))
    };
    let seven = steered(Level::V7);
    assert_eq!(kinds(&seven)[5..8], ["finish-step", "steering-message", "start-step"]);
    let image = json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA" });
    assert_eq!(seven[6]["parts"], json!([{ "type": "text", "text": "No, Rome." }, image]));
    assert_eq!(seven[6]["id"], "m-said-1");
    assert_eq!(kinds(&steered(Level::V6))[5..7], ["finish-step", "start-step"]);
}

#[test]
fn what_the_provider_executes_is_marked_as_its_own() {
    let part = |id: &str, kind, block: Value| ProviderPart::new("anthropic", id, "web_search", kind, block.to_string());
    let mut sent = Sent::new(Settings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    let call = json!({ "type": "server_tool_use", "id": "s1", "input": { "query": "rust" } });
    sent.event(Event::Provided(&part("s1", ProviderPartKind::Call, call)));
    let result = json!({ "type": "web_search_tool_result", "content": [{ "url": "https://a.example" }] });
    sent.event(Event::Provided(&part("s1", ProviderPartKind::Result, result.clone())));
    sent.event(Event::Provided(&part("s1", ProviderPartKind::Result, result)));
    let failure = json!({ "content": { "error_code": "too_many_requests" } });
    sent.event(Event::Provided(&part("s2", ProviderPartKind::Failure, failure)));
    let cited = json!({ "type": "url_citation", "url_citation": { "url": "https://b.example", "title": "B" } });
    sent.event(Event::Provided(&part("", ProviderPartKind::Result, cited)));
    let all = sent.end(End::new(None, None));
    let own = |kind: &str, id: &str, more: Value| {
        let mut chunk = json!({ "type": kind, "toolCallId": id, "providerExecuted": true, "dynamic": true });
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chunk
    };
    let input =
        |id: &str, input: Value| own("tool-input-available", id, json!({ "toolName": "web_search", "input": input }));
    assert_eq!(all[2], input("s1", json!({ "query": "rust" })));
    let output = json!({ "output": [{ "url": "https://a.example" }] });
    assert_eq!(all[3], own("tool-output-available", "s1", output));
    assert_eq!(all[4], input("s2", json!({})));
    assert_eq!(all[5], own("tool-output-error", "s2", json!({ "errorText": "too_many_requests" })));
    let source =
        json!({ "type": "source-url", "sourceId": "https://b.example", "url": "https://b.example", "title": "B" });
    assert_eq!(all[6], source);
    assert_eq!(all[7]["type"], "finish-step");
}

/// A call that ends, and then another turn of which `more` comes.
fn behind_a_call(more: &[Event<'_>]) -> Vec<String> {
    let run = run_of(&[("a", "work", "{}")]);
    let call = &run.calls()[0];
    let mut sent = Sent::new(Settings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    sent.event(Event::CallFinished { call, result: &CallResult::PolicyDenied { reason: None }, detail: None });
    for event in more {
        sent.event(*event);
    }
    let all = sent.end(End::new(None, None));
    let at = all.iter().rposition(|chunk| chunk["type"] == "tool-output-denied").unwrap();
    kinds(&all[at + 1..]).into_iter().map(str::to_owned).collect()
}

#[test]
fn behind_calls_that_ended_a_step_with_a_part_tells_clients_not_to_send() {
    const END: [&str; 6] = ["finish-step", "start-step", "text-start", "text-end", "finish-step", "finish"];
    let begun = Event::StepStarted { step: 2 };
    assert_eq!(behind_a_call(&[]), END);
    assert_eq!(behind_a_call(&[begun]), END, "it was stopped before anything came");
    let nothing = ProviderPart::new("openai", "", "web_search", ProviderPartKind::Result, "{}".to_owned());
    let with = behind_a_call(&[begun, Event::Provided(&nothing)]);
    assert_eq!(with[with.len() - 4..], END[2..], "nothing of it is a part");
    let said = ["finish-step", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert_eq!(behind_a_call(&[begun, Event::Text("Yes.")]), said);
}

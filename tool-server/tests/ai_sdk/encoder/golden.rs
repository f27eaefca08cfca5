//! Tests of whole streams of small runs, chunk by chunk, with steering messages and provider's calls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{Sent, run_of, tools};
use tool_run::run::LogEntry;
use tool_runtime::agent::{AgentError, Event, PartialArguments};
use tool_runtime::feedback::Rejection;
use tool_runtime::message::{FinishReason, Media, Part, ProviderPart, ProviderPartKind, Usage};
use tool_runtime::model::{ModelError, ModelErrorKind};
use tool_runtime::run::{CallResult, Prompt, StopReason, Timestamp};
use tool_runtime::tool::{Context, Output};
use tool_server::protocol::ai_sdk::{
    ChatRequest, Chunk, DataParts, ErrorDetail, Json, SdkVersion, StreamSettings, write_frame,
};
use tool_server::protocol::{Encoder, End};

fn turn_ends() -> Event<'static> {
    Event::TurnEnded { reason: &FinishReason::ToolCalls, usage: Usage::default() }
}

#[test]
fn text_and_a_call() {
    let run = run_of(&[("a", "work", "{\"x\": 1}")]);
    let call = &run.calls()[0];
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Reasoning("hm"));
    sent.event(Event::Text("Wait."));
    sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    sent.event(Event::CallArguments { id: &call.id, text: "{\"x\": 1}", so_far: PartialArguments::EMPTY });
    sent.event(turn_ends());
    sent.event(Event::CallAccepted(call));
    let result = CallResult::Succeeded { output: Output::json(&json!(null)).unwrap() };
    sent.event(Event::CallEnded { call, result: &result, detail: Some("for the log") });
    sent.event(Event::StepStarted { step: 2 });
    sent.event(Event::Text("Done."));
    sent.event(turn_ends());
    let chunks = sent.end(End::new(None, None));
    let expected = json!([
        { "type": "start", "messageId": "m" },
        { "type": "start-step" },
        { "type": "reasoning-start", "id": "0" },
        { "type": "reasoning-delta", "id": "0", "delta": "hm" },
        { "type": "reasoning-end", "id": "0" },
        { "type": "text-start", "id": "1" },
        { "type": "text-delta", "id": "1", "delta": "Wait." },
        { "type": "text-end", "id": "1" },
        { "type": "tool-input-start", "toolCallId": "a", "toolName": "work" },
        { "type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": "{\"x\": 1}" },
        { "type": "tool-input-available", "toolCallId": "a", "toolName": "work", "input": { "x": 1 } },
        { "type": "tool-output-available", "toolCallId": "a", "output": null },
        { "type": "finish-step" },
        { "type": "start-step" },
        { "type": "text-start", "id": "2" },
        { "type": "text-delta", "id": "2", "delta": "Done." },
        { "type": "text-end", "id": "2" },
        { "type": "finish-step" },
        { "type": "finish", "finishReason": "interrupted" },
    ]);
    assert_eq!(Value::from(chunks), expected);
}

/// The encoder holds a small piece back after a large one, but not beyond the beginning of the next call.
#[test]
fn the_arguments_of_a_call_come_before_the_next_call() {
    let run = run_of(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let [a, b] = run.calls() else { panic!("two calls") };
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::CallAnnounced { id: &a.id, name: &a.name });
    for text in [&"x".repeat(1_000), "y"] {
        sent.event(Event::CallArguments { id: &a.id, text, so_far: PartialArguments::EMPTY });
    }
    sent.event(Event::CallAnnounced { id: &b.id, name: &b.name });
    let chunks = sent.end(End::new(None, None));
    let place = |wanted: &dyn Fn(&Value) -> bool| chunks.iter().position(wanted).unwrap();
    assert!(place(&|chunk| chunk["inputTextDelta"] == "y") < place(&|chunk| chunk["toolCallId"] == "b"), "{chunks:?}");
}

#[test]
fn a_failure_of_the_model_is_masked_and_ends_what_was_open() {
    let run = run_of(&[("a", "work", "{}")]);
    let call = &run.calls()[0];
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    sent.event(Event::CallArguments { id: &call.id, text: "{\"x", so_far: PartialArguments::EMPTY });
    let failure = AgentError::Model(ModelError::new(ModelErrorKind::Unavailable, "key sk-123 was refused"));
    let chunks = sent.end(End::new(None, Some(&failure)));
    let kinds: Vec<_> = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[4..], ["tool-input-error", "error"]);
    assert_eq!(chunks[4]["input"], Value::Null);
    assert_eq!(chunks[5]["errorText"], "The answer failed. Try again.");
}

/// The response may follow a run that another server drives, and then it does not fail when that run is cancelled. The empty
/// text keeps a client that did not stop the run itself from sending again.
#[test]
fn a_cancelled_run_aborts_the_response_whoever_drives_it() {
    for failure in [None, Some(AgentError::Cancelled)] {
        let mut run = run_of(&[("a", "work", "{}")]);
        let result = CallResult::Cancelled;
        let ended = LogEntry::CallEnded { call: "a".into(), result: result.clone().into(), at: Timestamp(0) };
        let stopped = LogEntry::Stopped { reason: StopReason::Cancelled, at: Timestamp(0) };
        for entry in [ended, stopped] {
            run.apply(&entry).unwrap();
        }
        let call = &run.calls()[0];
        let mut sent = Sent::new(StreamSettings::new(tools()));
        sent.event(Event::StepStarted { step: 1 });
        sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
        sent.event(turn_ends());
        sent.event(Event::CallEnded { call, result: &result, detail: None });
        // The model was asked again, and had not said a word.
        sent.event(Event::StepStarted { step: 2 });
        sent.event(turn_ends());
        let chunks = sent.end(End::new(Some(&run), failure.as_ref()));
        let kinds: Vec<_> = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
        let end = ["finish-step", "start-step", "text-start", "text-end", "finish-step", "abort"];
        assert!(kinds.ends_with(&end), "{kinds:?}");
    }
}

/// Otherwise `useChat` would not send the output of the client's call: it waits until each call has an output or an error.
#[test]
fn a_denial_beside_a_call_of_the_client_is_an_error() {
    let run = run_of(&[("a", "work", "{}"), ("b", "client", "{}")]);
    let [a, b] = run.calls() else { panic!("two calls") };
    let denials = [
        CallResult::PolicyDenied { reason: Some("never".to_owned()) },
        CallResult::Denied { reason: None, by: "anna".into() },
    ];
    for result in denials {
        let mut sent = Sent::new(StreamSettings::new(tools()));
        sent.event(Event::StepStarted { step: 1 });
        for call in [a, b] {
            sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
        }
        sent.event(turn_ends());
        sent.event(Event::CallAccepted(a));
        sent.event(Event::CallEnded { call: a, result: &result, detail: None });
        let chunks = sent.end(End::new(Some(&run), None));
        let ended = chunks.iter().find(|chunk| chunk["type"] == "tool-output-error").expect("an error");
        assert_eq!(ended["toolCallId"], "a");
        assert!(!chunks.iter().any(|chunk| chunk["type"] == "tool-output-denied"), "{chunks:?}");
    }
}

#[test]
fn a_denial_by_a_policy_in_both_versions() {
    let denied = CallResult::PolicyDenied { reason: Some("never".to_owned()) };
    let kinds = |version, tool| {
        let run = run_of(&[("a", tool, "{}")]);
        let call = &run.calls()[0];
        let mut sent = Sent::new(StreamSettings::new(tools()).client_version(version));
        sent.event(Event::StepStarted { step: 1 });
        sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
        sent.event(Event::CallEnded { call, result: &denied, detail: None });
        let kinds: Vec<_> = sent.end(End::new(None, None)).iter().map(|chunk| chunk["type"].to_string()).collect();
        kinds[3..kinds.len() - 6].join(" ").replace('"', "")
    };
    let v7 = "tool-approval-request tool-approval-response tool-output-denied";
    let v6 = "tool-approval-request tool-output-denied";
    assert_eq!(kinds(SdkVersion::V7, "work"), format!("tool-input-available {v7}"));
    assert_eq!(kinds(SdkVersion::V6, "work"), format!("tool-input-available {v6}"));
    assert_eq!(kinds(SdkVersion::V7, "client"), v7, "a client would execute what is announced");
}

#[test]
fn unsupported_chunks_are_not_sent_to_a_client() {
    let request = Chunk::ToolApprovalRequest {
        approval_id: "a.1",
        tool_call_id: "a",
        approval_descriptor: None,
        input_schema_input: None,
        reason: Some("why"),
        is_automatic: Some(true),
        signature: Some("s"),
    };
    let text = |chunk: &Chunk<'_>, version| {
        let mut out = Vec::new();
        write_frame(chunk, version, &mut out);
        String::from_utf8(out).unwrap()
    };
    let six = r#"data: {"type":"tool-approval-request","approvalId":"a.1","toolCallId":"a","signature":"s"}"#;
    assert_eq!(text(&request, SdkVersion::V6), format!("{six}\n\n"));
    assert!(text(&request, SdkVersion::V7).contains(r#""reason":"why","isAutomatic":true"#));
    assert_eq!(text(&Chunk::ResetStep {}, SdkVersion::V6), "");
    assert_eq!(text(&Chunk::ResetStep {}, SdkVersion::V7), "data: {\"type\":\"reset-step\"}\n\n");
    let data = Chunk::Data { name: "a\"b", id: None, data: Json::Text("[1,\r\n2]"), transient: Some(true) };
    assert_eq!(text(&data, SdkVersion::V6), "data: {\"type\":\"data-a\\\"b\",\"data\":[1,  2],\"transient\":true}\n\n");
}

#[test]
fn tools_put_data_into_the_message() {
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let data = DataParts::new();
    data.on_change(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let cx = Context::new("a").with(data.clone());
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.encoder = sent.encoder.data(data);
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Text("Look:"));
    let message = DataParts::of(&cx).unwrap();
    message.put("weather", "oslo", json!({ "n": 21 }));
    message.notify("toast", json!("done"));
    sent.encoder.flush(Duration::ZERO, &mut sent.out);
    let chunks = sent.end(End::new(None, None));
    let weather = json!({ "type": "data-weather", "id": "oslo", "data": { "n": 21 } });
    assert_eq!(chunks[4..6], [weather, json!({ "type": "data-toast", "data": "done", "transient": true })]);
    assert_eq!(woken.load(Ordering::SeqCst), 2);
}

#[test]
fn a_refusal_is_data_for_a_form_too() {
    let feedback = Rejection::of("city", "which city?");
    let feedback_json = json!({ "tool": { "feedback": feedback.to_json() } });
    let refused = CallResult::Rejected { feedback: feedback.clone() };
    let failed = CallResult::Failed { error: "no".to_owned(), feedback: Some(Box::new(feedback)) };
    let error = |is_accepted: bool, tool_errors, result: &CallResult| {
        let run = run_of(&[("a", "work", "{}")]);
        let call = &run.calls()[0];
        let mut settings = StreamSettings::new(tools());
        settings.tool_errors = tool_errors;
        let mut sent = Sent::new(settings);
        sent.event(Event::StepStarted { step: 1 });
        sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
        if is_accepted {
            sent.event(Event::CallAccepted(call));
        }
        sent.event(Event::CallEnded { call, result, detail: None });
        let chunks = sent.end(End::new(None, None));
        let error = |chunk: &&Value| chunk["type"].as_str().is_some_and(|kind| kind.ends_with("-error"));
        let chunk = chunks.iter().find(error).expect("an error");
        (chunk["type"].clone(), chunk.get("providerMetadata").cloned())
    };
    assert_eq!(error(false, ErrorDetail::Full, &refused), (json!("tool-input-error"), Some(feedback_json.clone())));
    assert_eq!(error(true, ErrorDetail::Full, &failed), (json!("tool-output-error"), Some(feedback_json)));
    let plain = CallResult::Failed { error: "no".to_owned(), feedback: None };
    assert_eq!(error(true, ErrorDetail::Full, &plain), (json!("tool-output-error"), None));
    assert_eq!(error(true, ErrorDetail::Masked, &failed), (json!("tool-output-error"), None));
}

fn failed(version: SdkVersion, is_accepted: bool) -> Vec<Value> {
    let run = run_of(&[("a", "work", "{}"), ("b", "work", "{}")]);
    let mut sent = Sent::new(StreamSettings::new(tools()).client_version(version));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Text("I th"));
    for call in run.calls() {
        sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    }
    if is_accepted {
        sent.event(Event::CallAccepted(&run.calls()[0]));
    }
    sent.event(Event::TurnFailed { error: "overloaded", again: true });
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::Text("Yes."));
    sent.end(End::new(None, None))
}

fn kinds(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

#[test]
fn a_turn_that_came_to_nothing_is_forgotten() {
    let all = failed(SdkVersion::V7, false);
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
    // Clients that cannot drop chunks see that the turn's calls failed.
    let before = ["tool-input-error", "tool-input-error", "finish-step", "start-step", "text-start"];
    assert_eq!(kinds(&failed(SdkVersion::V6, false))[7..12], before);
}

#[test]
fn a_call_that_goes_on_keeps_its_place() {
    let all = failed(SdkVersion::V7, true);
    assert!(!kinds(&all).contains(&"reset-step"));
    assert_eq!(kinds(&all)[7..11], ["tool-input-available", "tool-input-error", "finish-step", "start-step"]);
    assert_eq!(all[8]["toolCallId"], "b");
}

#[test]
fn a_message_that_steers_the_run_is_in_the_message() {
    let mut prompt = Prompt::new(
        vec![
            Part::text("No, Rome."),
            Part::Image(Media::base64("image/png", "AAAA")),
            Part::Document(Media::url("https://a/b.pdf").with_media_type("application/pdf").with_name("b.pdf")),
            Part::Audio(Media::url("https://a/b")),
        ],
        "anna".into(),
        Timestamp(0),
    );
    let first = prompt.clone();
    prompt.steers = true;
    let steered = |version| {
        let mut sent = Sent::new(StreamSettings::new(tools()).client_version(version));
        sent.event(Event::Prompted(&first));
        sent.event(Event::StepStarted { step: 1 });
        sent.event(Event::Text("Paris"));
        sent.event(Event::Prompted(&prompt));
        sent.event(Event::StepStarted { step: 2 });
        sent.event(Event::Text("Rome"));
        sent.end(End::new(None, None))
    };
    let seven = steered(SdkVersion::V7);
    assert_eq!(kinds(&seven)[5..8], ["finish-step", "steering-message", "start-step"]);
    let image = json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA" });
    let document =
        json!({ "type": "file", "mediaType": "application/pdf", "filename": "b.pdf", "url": "https://a/b.pdf" });
    let sound = json!({ "type": "file", "mediaType": "audio/*", "url": "https://a/b" });
    assert_eq!(seven[6]["parts"], json!([{ "type": "text", "text": "No, Rome." }, image, document, sound]));
    // The client sends the same files back.
    let body = json!({ "id": "c", "messages": [{ "id": "m", "role": "user", "parts": seven[6]["parts"] }] });
    let request = ChatRequest::read(body.to_string().as_bytes()).unwrap();
    assert_eq!(request.messages[0].content, prompt.content);
    assert_eq!(seven[6]["id"], "m-steering-1");
    assert_eq!(kinds(&steered(SdkVersion::V6))[5..7], ["finish-step", "start-step"]);
}

#[test]
fn provider_executed_calls_are_marked() {
    let part = |id: &str, kind, block: Value| ProviderPart::new("anthropic", id, "web_search", kind, block.to_string());
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    let call = json!({ "type": "server_tool_use", "id": "s1", "input": { "query": "rust" } });
    sent.event(Event::ProviderPart(&part("s1", ProviderPartKind::Call, call)));
    let result = json!({ "type": "web_search_tool_result", "content": [{ "url": "https://a.example" }] });
    sent.event(Event::ProviderPart(&part("s1", ProviderPartKind::Result, result.clone())));
    sent.event(Event::ProviderPart(&part("s1", ProviderPartKind::Result, result)));
    let failure = json!({ "content": { "error_code": "too_many_requests" } });
    sent.event(Event::ProviderPart(&part("s2", ProviderPartKind::Failure, failure)));
    let cited = json!({ "type": "url_citation", "url_citation": { "url": "https://b.example", "title": "B" } });
    sent.event(Event::ProviderPart(&part("", ProviderPartKind::Result, cited)));
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

/// Returns the types of the chunks after a denied call, in a stream that goes on with the events `more`.
fn behind_a_call(more: &[Event<'_>]) -> Vec<String> {
    let run = run_of(&[("a", "work", "{}")]);
    let call = &run.calls()[0];
    let mut sent = Sent::new(StreamSettings::new(tools()));
    sent.event(Event::StepStarted { step: 1 });
    sent.event(Event::CallAnnounced { id: &call.id, name: &call.name });
    sent.event(Event::CallEnded { call, result: &CallResult::PolicyDenied { reason: None }, detail: None });
    for event in more {
        sent.event(*event);
    }
    let all = sent.end(End::new(None, None));
    let at = all.iter().rposition(|chunk| chunk["type"] == "tool-output-denied").unwrap();
    kinds(&all[at + 1..]).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_step_with_a_part_keeps_clients_from_sending() {
    const END: [&str; 6] = ["finish-step", "start-step", "text-start", "text-end", "finish-step", "finish"];
    let begun = Event::StepStarted { step: 2 };
    assert_eq!(behind_a_call(&[]), END);
    assert_eq!(behind_a_call(&[begun]), END, "it was stopped before anything came");
    let nothing = ProviderPart::new("openai", "", "web_search", ProviderPartKind::Result, "{}".to_owned());
    let with = behind_a_call(&[begun, Event::ProviderPart(&nothing)]);
    assert_eq!(with[with.len() - 4..], END[2..], "nothing of it is a part");
    let expected = ["finish-step", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert_eq!(behind_a_call(&[begun, Event::Text("Yes.")]), expected);
}

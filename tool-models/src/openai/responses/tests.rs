//! Tests of decoding and encoding, without a network. No recording has an incomplete or a refused turn, so the tests of these
//! follow OpenAI's specification (openapi.yaml of openai-openapi, 21 August 2026).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ResponsesDecoder, request};
use crate::{
    http::response::testing::{calls, decode, turn_of},
    openai::{Api, MessageRules, OpenAi, TokenLimitField, add_advice, calls_in_text::CallsInTextDecoder},
};
use tool_runtime::{
    message::{
        AssistantPart, FinishReason, Media, Message, Part, ProviderPart, ProviderPartKind, Signature, ToolCall,
        ToolMessage,
    },
    model::{Delta, ModelError, ModelErrorKind, ModelSettings, ReasoningEffort, Request, ToolChoice, Turn, Usage},
    schema::Schema,
    tool::ToolSpec,
    toolset::{ProviderTool, ToolList},
};

const ORIGIN: &str = "responses@api.openai.com";

fn decode_events(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    let decoder = ResponsesDecoder::new(&[], &ToolList::default()).with_origin(ORIGIN);
    decode(decoder, events.iter().map(Value::to_string))
}

fn turn(events: &[Value]) -> Turn {
    turn_of(decode_events(events).unwrap())
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn text_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": delta})
}

fn arguments_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": "any", "delta": delta})
}

fn without_index(mut event: Value) -> Value {
    event.as_object_mut().unwrap().remove("output_index");
    event
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": arguments})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn reasoning_of(turn: &Turn) -> String {
    let text = |part: &AssistantPart| match part {
        AssistantPart::Reasoning { text, .. } => text.clone(),
        _ => String::new(),
    };
    turn.content.iter().map(text).collect()
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": []}})
}

fn with_end(events: &[Value]) -> Vec<Value> {
    [events, &[completed()]].concat()
}

fn kind_of(events: &[Value]) -> ModelErrorKind {
    decode_events(events).unwrap_err().kind()
}

#[test]
fn calls_by_their_output_index() {
    let whole = "{\"x\":1}";
    let streams = [
        // Ids of items that change in every event, and interleaved calls.
        vec![
            added(0, &json!({"type": "function_call", "id": "1", "call_id": "a", "name": "f", "arguments": ""})),
            added(1, &json!({"type": "function_call", "id": "2", "call_id": "b", "name": "f", "arguments": ""})),
            json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "3", "delta": "{}"}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "4", "delta": "{\"x\""}),
            json!({"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "5", "arguments": whole}),
            done(0, &json!({"type": "function_call", "id": "6", "call_id": "a", "name": "f", "arguments": whole})),
            done(1, &json!({"type": "function_call", "id": "7", "call_id": "b", "name": "f", "arguments": "{}"})),
        ],
        // No deltas, and no ids of items.
        vec![added(0, &call("a", "")), done(0, &call("a", whole)), added(1, &call("b", "")), done(1, &call("b", "{}"))],
        // Only the ends.
        vec![done(0, &call("a", whole)), done(1, &call("b", "{}"))],
        // Events that come twice.
        vec![
            added(0, &call("a", "")),
            added(0, &call("a", "")),
            arguments_delta(0, whole),
            done(0, &call("a", whole)),
            done(0, &call("a", whole)),
            done(1, &call("b", "{}")),
            done(1, &call("b", "{}")),
        ],
        // A name that comes at the end.
        vec![
            added(0, &json!({"type": "function_call", "call_id": "a"})),
            arguments_delta(0, "{\"x\""),
            done(0, &call("a", whole)),
            done(1, &call("b", "{}")),
        ],
        // Other spaces in the end, an end without arguments, and arguments that are no string.
        vec![
            added(0, &call("a", "")),
            arguments_delta(0, whole),
            done(0, &call("a", "{ \"x\": 1 }")),
            added(1, &call("b", "")),
            arguments_delta(1, "{}"),
            done(1, &call("b", "")),
        ],
        vec![
            done(0, &json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": {"x": 1}})),
            done(1, &call("b", "{}")),
        ],
        // No index, and ends that come twice.
        [
            vec![added(0, &call("a", "")), arguments_delta(0, whole), done(0, &call("a", whole))],
            vec![
                added(1, &call("b", "")),
                done(1, &call("b", "{}")),
                done(1, &call("b", "{}")),
                done(0, &call("a", whole)),
            ],
        ]
        .concat()
        .into_iter()
        .map(without_index)
        .collect(),
        // No index, and interleaved.
        vec![added(0, &call("a", "")), added(1, &call("b", "")), done(0, &call("a", whole)), done(1, &call("b", "{}"))]
            .into_iter()
            .map(without_index)
            .collect(),
        // A call that has its identity only at the end.
        vec![
            added(0, &json!({"type": "function_call", "call_id": "a", "name": "f"})),
            done(0, &call("", whole)),
            done(1, &call("b", "{}")),
        ],
    ];
    for events in streams {
        let deltas = decode_events(&with_end(&events)).unwrap();
        let ends = deltas.iter().filter(|delta| matches!(delta, Delta::CallEnd { .. })).count();
        let turn = turn_of(deltas);
        assert_eq!(calls(&turn), [("a", "f", whole), ("b", "f", "{}")], "{events:#?}");
        assert_eq!((ends, turn.finish), (2, Some(FinishReason::ToolCalls)));
    }
}

/// Some servers stream only the text.
#[test]
fn calls_that_only_the_whole_response_has() {
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [message("Hi"), call("a", "{}")]}});
    for text in [text_delta(0, "Hi"), without_index(text_delta(0, "Hi"))] {
        let turn = turn(&[text, end.clone()]);
        assert_eq!(
            (turn.text().as_str(), calls(&turn), turn.finish.clone()),
            ("Hi", vec![("a", "f", "{}")], Some(FinishReason::ToolCalls))
        );
    }
    // Two calls with one identity are two calls.
    let twice = json!([call("a", "{}"), call("a", "{\"x\":1}")]);
    let end =
        |output: &Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    for events in [vec![end(&twice)], vec![text_delta(0, "Hi"), end(&twice)]] {
        assert_eq!(calls(&turn(&events)), [("a", "f", "{}"), ("a_2", "f", "{\"x\":1}")]);
    }
    let end = end(&json!([call("a", "{}")]));
    // vLLM makes new ids for it.
    let turn = turn(&[done(0, &call("b", "{}")), end]);
    assert_eq!(calls(&turn), [("b", "f", "{}")]);
}

/// vLLM counts the parts of all items together.
#[test]
fn a_text_is_shown_once_however_its_parts_are_counted() {
    let delta = |index: u64, part: u64, text: &str| json!({"type": "response.output_text.delta", "output_index": index, "content_index": part, "delta": text});
    let thought = |part: u64, text: &str| json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": part, "delta": text});
    let reasoning = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]});
    let two = json!({"type": "message", "content": [{"text": "A"}, {"text": ""}, {"text": "BC"}]});
    for (events, text) in [
        (vec![delta(1, 1, "Hi"), done(1, &message("Hi"))], "Hi"),
        (vec![delta(1, 1, "H"), done(1, &message("Hi"))], "Hi"),
        (vec![delta(1, 3, "A"), delta(1, 5, "B"), done(1, &two)], "ABC"),
        (vec![delta(1, 3, "A"), done(1, &two)], "ABC"),
        (vec![delta(1, u64::MAX, "A"), done(1, &two)], "ABC"),
        (vec![without_index(delta(1, 0, "Hi")), without_index(done(1, &message("Hi")))], "Hi"),
        (vec![without_index(done(0, &message("Hi"))), without_index(done(0, &message("Hi")))], "HiHi"),
    ] {
        let events = [&[thought(7, "Hm."), done(0, &reasoning)][..], &events].concat();
        let turn = turn(&with_end(&events));
        assert_eq!((reasoning_of(&turn).as_str(), turn.text().as_str()), ("Hm.", text), "{events:#?}");
    }
}

#[test]
fn ids_that_repeat_in_the_next_turn_are_replaced() {
    let before = [Message::Assistant {
        content: vec![AssistantPart::Call(ToolCall { id: "call_0".into(), name: "f".into(), arguments: "{}".into() })],
    }];
    let decoder = ResponsesDecoder::new(&before, &ToolList::default());
    let events = with_end(&[done(0, &call("call_0", "{}")), done(1, &call("", "{}"))]);
    let turn = turn_of(decode(decoder, events.iter().map(Value::to_string)).unwrap());
    assert_eq!(calls(&turn), [("call_0_2", "f", "{}"), ("call_1_1", "f", "{}")]);
}

#[test]
fn an_end_that_contradicts_fails_the_turn() {
    use ModelErrorKind::Protocol;
    let begun = [added(0, &call("a", "")), arguments_delta(0, "{\"x\":1}")];
    for end in [
        done(0, &call("a", "{}")),
        done(0, &call("b", "{\"x\":1}")),
        done(0, &message("x")),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"y\":1}"}),
    ] {
        assert_eq!(kind_of(&with_end(&[&begun[..], &[end]].concat())), Protocol);
    }
    let ended = [&begun[..], &[done(0, &call("a", "{\"x\":1}")), arguments_delta(0, "{}")]].concat();
    assert_eq!(kind_of(&with_end(&ended)), Protocol, "more arguments after the end");
    let says = [text_delta(0, "Hello")];
    assert_eq!(kind_of(&with_end(&[&says[..], &[done(0, &message("Good bye"))]].concat())), Protocol);
    assert_eq!(turn(&with_end(&[&says[..], &[done(0, &message("Hello you"))]].concat())).text(), "Hello you");
    let trimmed = with_end(&[text_delta(0, "Hello\n"), done(0, &message("Hello"))]);
    assert_eq!(turn(&trimmed).text(), "Hello\n", "some servers trim the text");
}

#[test]
fn a_call_without_an_end_is_completed_or_fails() {
    let begun = [added(0, &call("a", "")), arguments_delta(0, "{\"x\":")];
    let end =
        |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let whole = turn(&[&begun[..], &[end(json!([call("a", "{\"x\":1}")]))]].concat());
    assert_eq!(calls(&whole), [("a", "f", "{\"x\":1}")]);
    assert_eq!(kind_of(&[&begun[..], &[end(json!([]))]].concat()), ModelErrorKind::Protocol);
    assert_eq!(
        kind_of(&[&begun[..1], &[end(json!([]))]].concat()),
        ModelErrorKind::Protocol,
        "not a call without arguments"
    );
    assert_eq!(kind_of(&begun), ModelErrorKind::Unavailable, "cut off");
}

#[test]
fn reasoning_and_phase_are_kept_for_their_origin() {
    let reasoning = json!({"type": "reasoning", "id": "rs", "encrypted_content": "seal", "summary": [
        {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]});
    let summary = |index: u64, delta: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": delta});
    let talk = |text: &str, phase: &str| json!({"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]});
    let named = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "namespace": "n"});
    let turn = turn(&with_end(&[
        added(0, &json!({"type": "reasoning", "id": "rs", "encrypted_content": "early", "summary": []})),
        summary(0, "One."),
        summary(1, "Two."),
        done(0, &reasoning),
        done(1, &talk("I look.", "commentary")),
        done(2, &talk("Done.", "final_answer")),
        done(3, &json!({"type": "reasoning", "id": "only an id", "encrypted_content": null, "summary": []})),
        done(4, &json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "raw"}]})),
        done(5, &named),
    ]));
    let signed = |text: &str, value: String| AssistantPart::Reasoning {
        text: text.into(),
        signature: Some(Signature::new(ORIGIN, value)),
    };
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    assert_eq!(
        turn.content,
        [
            signed("One.\n\nTwo.", reasoning.to_string()),
            signed("", json!({"phase": "commentary"}).to_string()),
            text("I look."),
            signed("", json!({"phase": "final_answer"}).to_string()),
            text("Done."),
            signed(
                "raw",
                json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "raw"}]}).to_string()
            ),
            signed("", json!({"namespace": "n"}).to_string()),
            AssistantPart::Call(ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() }),
        ]
    );
    let input =
        input_of(&model(), &[Message::user("go"), Message::Assistant { content: turn.content.clone() }, result("a")]);
    assert_eq!(input[1], reasoning);
    assert_eq!(input[2], json!({"role": "assistant", "content": "I look.", "phase": "commentary"}));
    assert_eq!(input[3], json!({"role": "assistant", "content": "Done.", "phase": "final_answer"}));
    assert_eq!(input[4]["content"][0]["text"], "raw");
    assert_eq!(input[5], named);
    // Another host, and chat completions, receive neither.
    for other in [
        model().base_url("https://api.x.ai/v1").api(Api::Responses),
        model().base_url("http://localhost/v1").api(Api::Responses),
    ] {
        let input =
            input_of(&other, &[Message::user("go"), Message::Assistant { content: turn.content.clone() }, result("a")]);
        let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
        assert_eq!(input[1..3], [json!({"role": "assistant", "content": "I look.Done."}), call]);
    }
}

#[test]
fn reasoning_whose_end_comes_late_goes_back_before_its_call() {
    let reasoning = json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]});
    let content = turn(&with_end(&[
        added(0, &json!({"type": "reasoning"})),
        json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "hm"}),
        done(1, &call("a", "{}")),
        done(0, &reasoning),
    ]))
    .content;
    let input = input_of(&model(), &[Message::user("go"), Message::Assistant { content }, result("a")]);
    assert_eq!((&input[1], &input[2]["type"]), (&reasoning, &json!("function_call")));
}

#[test]
fn items_of_the_providers_tools() {
    use ProviderPartKind::{Call, Failure, Result};
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}});
    let failed =
        json!({"type": "mcp_call", "id": "mcp_1", "name": "shorten", "status": "failed", "error": {"type": "x"}});
    let shell = json!({"type": "shell_call", "id": "sh_1", "call_id": "c", "status": "completed"});
    let output = json!({"type": "shell_call_output", "id": "sho_1", "call_id": "c", "output": []});
    let listed = json!({"type": "mcp_list_tools", "id": "mcpl_1", "tools": []});
    let cited = json!({"type": "url_citation", "url": "https://example.com"});
    let items = [&search, &failed, &shell, &output, &listed];
    let mut events: Vec<Value> = (0..).zip(items).flat_map(|(at, item)| [added(at, item), done(at, item)]).collect();
    events.push(done(
        9,
        &json!({"type": "message", "content": [{"type": "output_text", "text": "x", "annotations": [cited]}]}),
    ));
    let content = turn(&with_end(&events)).content;
    let part = |id: &str, name: &str, kind, item: &Value| {
        AssistantPart::Provider(ProviderPart::new(ORIGIN, id, name, kind, item.to_string()))
    };
    assert_eq!(
        content,
        [
            part("ws_1", "web_search", Result, &search),
            part("mcp_1", "shorten", Failure, &failed),
            part("c", "shell", Call, &shell),
            part("c", "shell", Result, &output),
            part("", "mcp_list_tools", Result, &listed),
            AssistantPart::Text { text: "x".into() },
            AssistantPart::Provider(ProviderPart::new("openai", "", "url_citation", Result, cited.to_string())),
        ]
    );
    let input = input_of(&model(), &[Message::user("go"), Message::Assistant { content }, Message::user("on")]);
    assert_eq!(input[1..6].iter().collect::<Vec<_>>(), items, "unchanged");
    assert_eq!(input[6..], [json!({"role": "assistant", "content": "x"}), json!({"role": "user", "content": "on"})]);
}

#[test]
fn items_that_wait_for_the_application_fail_the_turn() {
    for (item, advice) in [
        (json!({"type": "mcp_approval_request", "name": "pay", "arguments": "{}"}), "`require_approval`"),
        (json!({"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT"}), "a tool of your own"),
        (json!({"type": "shell_call", "call_id": "c"}), "a tool of your own"),
        (json!({"type": "computer_call", "call_id": "c"}), "a tool of your own"),
        (json!({"type": "tool_search_call", "call_id": "c", "execution": "client"}), "a tool of your own"),
    ] {
        let error = decode_events(&with_end(&[done(0, &item)])).unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration, "{item}");
        let name = item.get("name").unwrap_or(&item["type"]).as_str().unwrap().trim_end_matches("_call");
        assert!(error.to_string().contains(name) && error.to_string().contains(advice), "{error}");
    }
}

/// From the specification, except the nested `error`.
#[test]
fn errors_in_the_stream() {
    use ModelErrorKind::{RateLimited, Refused, Unavailable};
    let failed = |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let cases = [
        (json!({"type": "error", "code": "server_error", "message": "m", "param": null}), Unavailable),
        (json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), RateLimited),
        (json!({"type": "error", "code": "invalid_prompt", "message": "m"}), Refused),
        (json!({"type": "error", "code": null, "message": "m"}), Unavailable),
        (
            json!({"type": "error", "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "m"}}),
            Refused,
        ),
        (failed(json!({"code": "server_error", "message": "m"})), Unavailable),
        (failed(json!({"code": "rate_limit_exceeded", "message": "m"})), RateLimited),
        (failed(json!({"code": "data_residency_mismatch", "message": "m"})), Refused),
        (
            json!({"type": "response.completed", "response": {"status": "failed", "error": {"code": "bio_policy", "message": "m"}}}),
            Refused,
        ),
        (json!({"error": {"code": 502, "message": "m"}}), Unavailable),
        // Azure has numbers as texts. Gateways send errors with a type of their own.
        (failed(json!({"code": "500", "message": "m"})), Unavailable),
        (json!({"object": "error", "type": "BadRequestError", "message": "m", "param": null, "code": 400}), Refused),
        (json!({"type": "overloaded", "error": {"type": "overloaded_error", "message": "m"}}), Unavailable),
    ];
    for (event, kind) in cases {
        let error = decode_events(&[text_delta(0, "x"), event.clone()]).unwrap_err();
        assert_eq!(error.kind(), kind, "{event}");
        assert!(error.to_string().contains(": m"), "{error}");
    }
    assert_eq!(kind_of(&[failed(Value::Null)]), Unavailable);
    assert_eq!(kind_of(&[text_delta(0, "x"), done(0, &message("x"))]), Unavailable, "no end");
}

/// From the specification.
#[test]
fn turns_that_are_cut_or_refused() {
    let incomplete = |event: &str, reason: Value| {
        json!({"type": event, "response": {"status": "incomplete", "incomplete_details": {"reason": reason},
            "usage": {"input_tokens": 3, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 1},
                "output_tokens_details": {"reasoning_tokens": 2}}}})
    };
    let cut =
        json!({"type": "function_call", "call_id": "b", "name": "f", "arguments": "{\"x", "status": "incomplete"});
    for (reason, expected) in [
        (json!("max_output_tokens"), FinishReason::Length),
        (json!("max_tokens"), FinishReason::Length),
        (json!("content_filter"), FinishReason::ContentFilter),
        (json!("new"), FinishReason::Other("new".into())),
        (Value::Null, FinishReason::Other("incomplete".into())),
    ] {
        for event in ["response.incomplete", "response.completed"] {
            let events =
                [done(0, &call("a", "{}")), added(1, &call("b", "")), done(1, &cut), incomplete(event, reason.clone())];
            let deltas = decode_events(&events).unwrap();
            let ends: Vec<_> = deltas.iter().filter(|delta| matches!(delta, Delta::CallEnd { .. })).collect();
            assert_eq!(ends, [&Delta::CallEnd { index: 0 }], "the cut call has no end");
            let turn = turn_of(deltas);
            assert_eq!(turn.finish.as_ref(), Some(&expected));
            assert_eq!(turn.usage, Usage { input_tokens: 3, output_tokens: 4, cached_tokens: 1, reasoning_tokens: 2 });
        }
    }
    // Some servers name only the item.
    let turn_of_cut = turn(&with_end(&[done(0, &cut)]));
    assert_eq!(turn_of_cut.finish, Some(FinishReason::Length));
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]});
    let streamed = [
        json!({"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I will"}),
        json!({"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "I will not."}),
    ];
    for events in [vec![done(0, &refusal)], [&streamed[..], &[done(0, &refusal)]].concat()] {
        let turn = turn(&with_end(&events));
        assert_eq!((turn.text().as_str(), turn.finish), ("I will not.", Some(FinishReason::ContentFilter)));
    }
}

#[test]
fn a_response_that_is_not_streamed() {
    let body = |status: &str| {
        json!({"object": "response", "status": status, "error": null, "text": {"format": {"type": "text"}},
        "output": [message("hi"), call("a", "{}")], "usage": {"input_tokens": 1, "output_tokens": 2}})
    };
    let turn = turn(&[body("completed")]);
    assert_eq!((turn.text().as_str(), turn.usage.output_tokens, turn.calls().count()), ("hi", 2, 1));
    assert_eq!(kind_of(&[body("in_progress")]), ModelErrorKind::Unavailable);
    assert_eq!(kind_of(&[body("cancelled")]), ModelErrorKind::Unavailable);
    let mut odd = body("completed");
    odd["usage"] = json!({"input_tokens": 1.0, "output_tokens": "2", "output_tokens_details": [], "total_tokens": -1});
    assert_eq!(turn_of(decode_events(&[odd]).unwrap()).usage, turn.usage);
    assert_eq!(kind_of(&[json!({"error": {"message": "m"}})]), ModelErrorKind::Unavailable);
}

#[test]
fn unknown_events_and_odd_orders_are_skipped_or_fail() {
    let events = [
        json!({"type": "response.queued"}),
        json!({"type": "response.new", "delta": {"x": 1}, "output_index": 7}),
        json!({"x": 1}),
        arguments_delta(4, "{}"),
        text_delta(0, "x"),
        json!({"type": "response.output_text.delta", "delta": "y"}),
        json!({"type": "response.output_item.done"}),
        done(1, &json!({"type": "some_new_item", "id": "new"})),
        completed(),
        text_delta(0, "after the end"),
    ];
    let turn = turn(&events);
    assert_eq!((turn.text().as_str(), turn.finish.clone()), ("xy", Some(FinishReason::Stop)));
    for events in
        [[text_delta(0, "x"), done(0, &message("x")), text_delta(0, "y")], [json!([1]), json!(1), json!(null)]]
    {
        assert_eq!(kind_of(&with_end(&events)), ModelErrorKind::Protocol);
    }
}

#[test]
fn calls_in_text_of_this_api() {
    let tools = ToolList::new(vec![spec("f", false)]);
    let decoder = CallsInTextDecoder::new(ResponsesDecoder::new(&[], &tools), &[], &tools);
    let events = with_end(&[text_delta(0, "{\"name\": \"f\", "), text_delta(0, "\"arguments\": {\"x\": 1}}")]);
    let turn = turn_of(decode(decoder, events.iter().map(Value::to_string)).unwrap());
    assert_eq!(calls(&turn), [("call_0_0", "f", "{\"x\": 1}")]);
}

fn spec(name: &str, is_strict: bool) -> Arc<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let mut spec = ToolSpec::new(name, format!("does {name}"), Schema::new(schema));
    spec.options.strict = is_strict;
    Arc::new(spec)
}

fn model() -> OpenAi {
    OpenAi::new("gpt-5.6")
}

fn body_of(model: &OpenAi, request: &Request<'_>) -> Value {
    serde_json::from_slice(&request::write_body(model, request)).unwrap()
}

fn input_of(model: &OpenAi, messages: &[Message]) -> Vec<Value> {
    let tools = ToolList::default();
    body_of(model, &Request::new(messages, &tools))["input"].as_array().unwrap().clone()
}

fn result(id: &str) -> Message {
    Message::Tool(ToolMessage {
        call_id: id.into(),
        tool: "f".into(),
        content: vec![Part::text("ok")],
        is_error: false,
    })
}

#[test]
fn a_conversation_as_a_request() {
    let image = || Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
    let pdf = Part::Document(Media::base64("application/pdf", "JVBERi0xLjc=").with_name("a.pdf"));
    let page = Part::Document(Media::url("https://example.com/a.pdf"));
    let answer = |id: &str, content: Vec<Part>, is_error| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content, is_error })
    };
    let asked = |id: &str, arguments: &str| {
        AssistantPart::Call(ToolCall { id: id.into(), name: "f".into(), arguments: arguments.into() })
    };
    let unsigned = |text: &str, signature| AssistantPart::Reasoning { text: text.into(), signature };
    let long_id = format!("resp_{}:call_0", "y".repeat(60));
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("look"), image(), pdf, page] },
        Message::system("be kind"),
        Message::Assistant {
            content: vec![
                unsigned("of another provider", None),
                // Chats of an earlier version have signatures without an origin.
                unsigned("", Some(Signature::new("", "{\"google\":{}}"))),
                unsigned("", Some(Signature::new("anthropic", "seal"))),
                AssistantPart::Provider(ProviderPart::new("anthropic", "s", "search", ProviderPartKind::Call, "{}")),
                AssistantPart::Text { text: " ".into() },
                asked("call_a", "{\"x\": 1}"),
                asked(&long_id, "{oops"),
                asked("c", ""),
                asked("d", "{}"),
            ],
        },
        answer("call_a", vec![Part::text("one"), Part::text("two")], false),
        answer(&long_id, vec![Part::text("a picture"), image()], false),
        answer("c", vec![Part::text("no disk")], true),
        answer("d", vec![], false),
        Message::user("a"),
        Message::user("b"),
    ];
    let tools = vec![spec("f", false), spec("g", true)];
    let tools =
        ToolList::with_provided(tools, vec![ProviderTool::responses("web_search"), ProviderTool::openai("other")]);
    let settings = ModelSettings {
        max_tokens: Some(7),
        temperature: Some(0.5),
        allow_parallel_calls: Some(false),
        reasoning_effort: Some(ReasoningEffort::Max),
    };
    let choice = ToolChoice::Tool("f".into());
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let model = model().extra("reasoning", json!({"summary": "auto"})).extra("input", "no");
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let called = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": arguments});
    let output = |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    let short_id = &long_id[long_id.len() - 64..];
    let body = body_of(&model, &request);
    assert_eq!(
        body["input"],
        json!([
            {"role": "system", "content": "be brief\n\nbe kind"},
            {"role": "user", "content": [
                {"type": "input_text", "text": "look"},
                picture,
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
                {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            ]},
            called("call_a", "{\"x\": 1}"),
            called(short_id, "{\"INVALID_JSON\":\"{oops\"}"),
            called("c", "{}"),
            called("d", "{}"),
            output("call_a", json!("one\ntwo")),
            output(short_id, json!([{"type": "input_text", "text": "a picture"}, picture])),
            output("c", json!("error: no disk")),
            output("d", json!("(no content)")),
            {"role": "user", "content": "a\n\nb"},
        ])
    );
    let tools = body["tools"].as_array().unwrap();
    let strict: Vec<&Value> = tools.iter().map(|tool| &tool["strict"]).collect();
    assert_eq!(strict, [&json!(false), &json!(true), &Value::Null], "each function tool says it");
    assert_eq!((&tools[0]["type"], &tools[0]["name"]), (&json!("function"), &json!("f")));
    assert_eq!(tools[2], json!({"type": "web_search"}));
    let mut rest = body.as_object().unwrap().clone();
    rest.retain(|name, _| !["input", "tools"].contains(&name.as_str()));
    assert_eq!(
        Value::Object(rest),
        json!({
            "model": "gpt-5.6",
            "tool_choice": {"type": "function", "name": "f"},
            "parallel_tool_calls": false,
            "max_output_tokens": 7,
            "include": ["reasoning.encrypted_content"],
            "store": false,
            "stream": true,
            "reasoning": {"summary": "auto", "effort": "xhigh"},
        })
    );
    // OpenAI refuses a temperature beside an effort.
    let settings = ModelSettings { reasoning_effort: Some(ReasoningEffort::None), ..settings };
    assert_eq!(body_of(&model, &request.with_settings(&settings))["temperature"], 0.5);
}

#[test]
fn nothing_is_sent_that_only_means_something_beside_another_item() {
    let signed = |value: Value| AssistantPart::Reasoning {
        text: String::new(),
        signature: Some(Signature::new(ORIGIN, value.to_string())),
    };
    let reasoning = json!({"type": "reasoning", "encrypted_content": "seal"});
    let messages = [
        Message::assistant("Hi."),
        Message::user("go"),
        // The turn was cut.
        Message::Assistant {
            content: vec![
                AssistantPart::Text { text: "I".into() },
                signed(json!({"phase": "x"})),
                signed(reasoning.clone()),
            ],
        },
        Message::user("on"),
        Message::Assistant {
            content: vec![signed(reasoning), signed(json!({"phase": "x"})), AssistantPart::Text { text: "\n".into() }],
        },
    ];
    assert_eq!(
        input_of(&model(), &messages),
        [
            json!({"role": "user", "content": "Hello."}),
            json!({"role": "assistant", "content": "Hi."}),
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": "I"}),
            json!({"role": "user", "content": "on"}),
        ]
    );
    assert_eq!(input_of(&model(), &[]), [json!({"role": "user", "content": "Hello."})]);
}

/// OpenAI refuses it: "Reasoning input items can only be provided to a reasoning or computer use model."
#[test]
fn a_model_that_does_not_reason_gets_no_reasoning() {
    let reasoning = json!({"type": "reasoning", "encrypted_content": "seal"});
    let signature = Some(Signature::new(ORIGIN, reasoning.to_string()));
    let content =
        vec![AssistantPart::Reasoning { text: "hm".into(), signature }, AssistantPart::Text { text: "A".into() }];
    let messages = [Message::user("go"), Message::Assistant { content }, Message::user("on")];
    let has_reasoning = |name: &str| input_of(&OpenAi::new(name), &messages).contains(&reasoning);
    assert_eq!(["gpt-5.6-sol", "o3", "gpt-4.1", "gpt-4o-mini"].map(has_reasoning), [true, true, false, false]);
}

#[test]
fn encrypted_reasoning_is_asked_where_it_is_known() {
    let include = |model: &OpenAi| body_of(model, &Request::new(&[], &ToolList::default())).get("include").cloned();
    let asked = Some(json!(["reasoning.encrypted_content"]));
    let at = |model: &str, url: &str| OpenAi::new(model).base_url(url).api(Api::Responses);
    assert_eq!(include(&model()), asked);
    assert_eq!(include(&at("mine", "https://x.openai.azure.com/openai/v1")), asked);
    assert_eq!(include(&at("openai.gpt-5.6", "https://bedrock-mantle.us-east-1.api.aws/openai/v1")), asked);
    assert_eq!(include(&at("gpt-4o", "https://api.openai.com/v1")), None);
    assert_eq!(include(&at("any", "http://localhost/v1")), None);
    assert_eq!(include(&model().extra("include", json!(["a"]))), Some(json!(["a", "reasoning.encrypted_content"])));
    assert_eq!(include(&model().extra("include", json!([]))), None);
    // A gateway in front of OpenAI: the application knows what is behind it.
    let gateway = at("gpt-5.6", "https://gateway.example.com/v1").extra("include", "reasoning.encrypted_content");
    assert_eq!(include(&gateway), asked);
    let plain: Value =
        serde_json::from_slice(&request::write_plain_body(&gateway, &Request::new(&[], &ToolList::default()))).unwrap();
    assert_eq!(plain.get("include"), None);
}

#[test]
fn a_setting_of_the_other_api_is_an_error_that_names_the_new_one() {
    let at_another = |model: OpenAi| model.base_url("not a url").api(Api::Responses);
    for (model, expected) in [
        (model().send_reasoning(true), ["send_reasoning", "goes back by itself"]),
        (model().token_limit_field(TokenLimitField::MaxTokens), ["token_limit_field", "OpenAi::max_tokens"]),
        (model().request_usage(false), ["request_usage", "token counts"]),
        (model().message_rules(MessageRules::Strict), ["message_rules", "same order"]),
        (model().extra("reasoning_effort", "low"), ["reasoning_effort", "ModelSettings::reasoning_effort"]),
        (at_another(model().extra("max_tokens", 7)), ["max_tokens", "OpenAi::max_tokens"]),
        (model().extra("response_format", json!({})), ["response_format", "\"text\""]),
        (model().extra("previous_response_id", "r"), ["previous_response_id", "a store of runs"]),
        (model().api(Api::Chat).extra("reasoning", json!({})), ["reasoning", "reasoning_effort"]),
        (model().api(Api::Chat).extra("include", json!([])), ["include", "Api::Responses"]),
    ] {
        let error = model.check_settings().unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Configuration);
        assert!(expected.iter().all(|words| error.to_string().contains(words)), "{error}");
    }
    // OpenRouter's chat completions have a member of this name.
    let other = OpenAi::new("m").base_url("http://127.0.0.1:1/v1").extra("reasoning", json!({"effort": "low"}));
    other.check_settings().unwrap();
}

#[test]
fn the_api_by_address_and_setting() {
    let from_vars = |vars: &[(&str, &str)]| {
        let vars = [vars, &[("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "m")]].concat();
        OpenAi::from_vars(&|name| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    };
    let local = ("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1");
    for (vars, api) in [
        (&[][..], Api::Responses),
        (&[("OPENAI_BASE_URL", "https://eu.api.openai.com/v1")], Api::Responses),
        (&[("OPENAI_API", "chat")], Api::Chat),
        (&[local], Api::Chat),
        (&[local, ("OPENAI_API", "responses")], Api::Responses),
    ] {
        assert_eq!(from_vars(vars).unwrap().effective_api(), api, "{vars:?}");
    }
    let error = from_vars(&[("OPENAI_API", "completions")]).unwrap_err();
    assert_eq!(error.to_string(), "OPENAI_API is `completions`: it must hold `responses` or `chat`");
    assert_eq!(OpenAi::new("m").api(Api::Chat).effective_api(), Api::Chat);
}

#[test]
fn an_error_of_chat_completions_says_which_api_the_model_needs() {
    let text = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. Use /v1/responses.";
    let error = add_advice(ModelError::new(ModelErrorKind::Refused, text));
    assert_eq!(error.kind(), ModelErrorKind::Refused);
    assert!(error.to_string().starts_with(text) && error.to_string().contains("OPENAI_API=responses"), "{error}");
    for other in [ModelError::new(ModelErrorKind::Unavailable, text), ModelError::new(ModelErrorKind::Refused, "no")] {
        let words = other.to_string();
        assert_eq!(add_advice(other).to_string(), words);
    }
}

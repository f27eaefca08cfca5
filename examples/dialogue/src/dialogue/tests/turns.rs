//! Edge cases of turns: demands of a request, and histories from other programs.

use futures_util::{FutureExt, StreamExt};
use serde_json::json;

use super::super::Reply;
use super::dialogues::tools;
use super::{reply, tool_result};
use crate::DialogueModel;
use tool_runtime::message::{AssistantPart, Media, Message, Part, ToolCall};
use tool_runtime::model::{Delta, FinishReason, Model, ModelErrorKind, Request, ToolChoice};
use tool_runtime::toolset::ToolList;

fn deltas(request: Request<'_>) -> Vec<Delta> {
    let model = DialogueModel::new();
    let all: Option<Vec<_>> = model.stream(request).collect().now_or_never();
    all.expect("it never waits").into_iter().map(|delta| delta.expect("nothing can fail")).collect()
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "get_weather".into(), arguments: arguments.into() }
}

fn calls(calls: &[ToolCall]) -> Message {
    Message::Assistant { content: calls.iter().cloned().map(AssistantPart::Call).collect() }
}

#[test]
fn a_text_is_streamed_in_words() {
    let messages = [Message::user("weather")];
    let deltas = deltas(Request::new(&messages, &tools()));
    let text = |text: &str| Delta::Text(text.into());
    assert_eq!(deltas[..3], [text("Get "), text("weather. "), text("What ")]);
    assert_eq!(deltas.last(), Some(&Delta::Finish(FinishReason::Stop)));
}

#[test]
fn calls_are_numbered_through_the_conversation() {
    let mut messages = vec![Message::user("weather in Rome")];
    let expected = [
        Delta::CallStart { index: 0, id: "call_1".into(), name: "get_weather".into() },
        Delta::CallArguments { index: 0, text: "{\"city\":\"Rome\"}".into() },
        Delta::CallEnd { index: 0 },
        Delta::Usage(tool_runtime::model::Usage::default()),
        Delta::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(deltas(Request::new(&messages, &tools())), expected);
    // Another model has already used the next id.
    let used = call("call_2", "{}");
    messages.extend([
        calls(std::slice::from_ref(&used)),
        tool_result(&used, "{}", false),
        Message::user("weather in Oslo"),
    ]);
    assert!(matches!(reply(&tools(), &messages), Reply::Call(call) if call.id == "call_3"));
}

#[test]
fn the_tool_choice_is_kept_to() {
    let tools = tools();
    let messages = [Message::user("weather in Rome")];
    let none = deltas(Request::new(&messages, &tools).with_choice(&ToolChoice::None));
    assert!(matches!(&none[0], Delta::Text(text) if text.starts_with("Get")));
    assert!(!none.iter().any(|delta| matches!(delta, Delta::CallStart { .. })));

    let mut forced = vec![Message::user("notes.txt, as always")];
    let choice = ToolChoice::Tool("delete_file".into());
    let first = deltas(Request::new(&forced, &tools).with_choice(&choice));
    assert!(matches!(&first[0], Delta::CallStart { name, .. } if name == "delete_file"));
    forced[0] = Message::user("weather in Rome");
    assert!(
        matches!(&deltas(Request::new(&forced, &tools).with_choice(&choice))[0], Delta::Text(text) if text == "Delete ")
    );

    let unknown = ToolChoice::Tool("nope".into());
    let model = DialogueModel::new();
    let mut failing = model.stream(Request::new(&messages, &tools).with_choice(&unknown));
    assert!(
        matches!(failing.next().now_or_never().flatten(), Some(Err(error)) if error.kind() == ModelErrorKind::Refused)
    );
}

#[test]
fn an_abandoned_call_needs_a_new_request() {
    let mut messages = vec![Message::user("weather in Rome"), Message::assistant("Stopped."), Message::user("hm")];
    // The last message is a new request.
    assert!(matches!(reply(&tools(), &messages), Reply::Say(text) if text.starts_with("I am not sure")));
    messages[2] = Message::user("go ahead");
    assert!(matches!(reply(&tools(), &messages), Reply::Call(call) if call.arguments.contains("Rome")));
    messages.pop();
    assert!(matches!(reply(&tools(), &messages), Reply::Say(text) if text.starts_with("Shall I go ahead with")));
}

#[test]
fn messages_before_a_success_do_not_matter() {
    let made = call("call_1", "{\"city\":\"Rome\"}");
    let before = [Message::user("delete a file"), Message::assistant("?"), Message::user("weather in Rome")];
    let after = [calls(std::slice::from_ref(&made)), tool_result(&made, "{}", false), Message::user("and in Oslo?")];
    let whole: Vec<Message> = before.into_iter().chain(after.clone()).collect();
    assert_eq!(reply(&tools(), &whole), reply(&tools(), &after));
    assert!(
        matches!(reply(&tools(), &after), Reply::Call(call) if call.id == "call_2" && call.arguments.contains("Oslo"))
    );
}

#[test]
fn all_results_of_parallel_calls_are_shown() {
    let (one, two) = (call("a", "{\"city\":\"Rome\"}"), call("b", "{\"city\":\"Oslo\"}"));
    let refused =
        json!({"ok": false, "validationResults": {"city": {"valid": false, "problems": ["too cold"]}}}).to_string();
    let messages = [
        Message::user("both"),
        calls(&[one.clone(), two.clone()]),
        tool_result(&two, &refused, true),
        tool_result(&one, "warm", false),
    ];
    let Reply::Say(text) = reply(&tools(), &messages) else { panic!("results are shown") };
    assert_eq!(text, "“Oslo” does not work for city: too cold.\n\nwarm\nWhat is the city name?");
}

#[test]
fn nothing_to_answer_and_nothing_to_offer() {
    assert!(matches!(reply(&tools(), &[]), Reply::Say(text) if text.starts_with("This is what I can do:")));
    assert!(
        matches!(reply(&ToolList::default(), &[Message::user("x")]), Reply::Say(text) if text.contains("no tools"))
    );
    let image = Part::Image(Media::base64("image/png", ""));
    let messages = [Message::User { content: vec![image] }];
    assert_eq!(reply(&tools(), &messages), Reply::Say("I did not get any text.".into()));
    let gone = ToolCall { name: "gone".into(), ..call("x", "not json") };
    let messages = [calls(std::slice::from_ref(&gone)), tool_result(&gone, "{\"ok\":false}", true)];
    assert!(matches!(reply(&tools(), &messages), Reply::Say(_)));
}

#[test]
fn a_denial_is_not_a_failure_of_the_tool() {
    let made = call("a", "{}");
    for (text, reply_text) in [
        (
            "the call was denied, and did not run: too cold",
            "I did not do it: too cold.\nAnything else? (or change something, such as “city: …”)",
        ),
        (
            "Declined by the user.",
            "All right, I did not do it.\nAnything else? (or change something, such as “city: …”)",
        ),
    ] {
        let messages = [calls(std::slice::from_ref(&made)), tool_result(&made, text, true)];
        assert_eq!(reply(&tools(), &messages), Reply::Say(reply_text.into()));
    }
    let messages = [calls(std::slice::from_ref(&made)), tool_result(&made, "Permission denied (os error 13)", true)];
    assert!(
        matches!(reply(&tools(), &messages), Reply::Say(text) if text.starts_with("That did not work: Permission"))
    );
}

#[test]
fn control_characters_of_a_tool_do_not_reach_the_terminal() {
    let made = call("a", "{}");
    let messages = [calls(std::slice::from_ref(&made)), tool_result(&made, "\u{1b}[2Jred\u{202e}x", true)];
    let Reply::Say(text) = reply(&tools(), &messages) else { panic!("a failure is shown") };
    assert!(text.contains("[2Jredx") && !text.contains(['\u{1b}', '\u{202e}']));
}

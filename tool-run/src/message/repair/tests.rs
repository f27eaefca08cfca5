//! Any history becomes one that providers accept.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn call(id: &str) -> AssistantPart {
    AssistantPart::Call(ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() })
}

fn calls(ids: &[&str]) -> Message {
    Message::Assistant { content: ids.iter().map(|id| call(id)).collect() }
}

fn answer(id: &str, text: &str) -> Message {
    Message::Tool(ToolMessage {
        call_id: id.into(),
        tool: "t".into(),
        content: vec![Part::text(text)],
        is_error: false,
    })
}

/// Returns why providers would refuse a history.
fn refused(messages: &[Message]) -> Option<String> {
    let mut ids = HashSet::new();
    let mut at = 0;
    let mut last = "";
    while at < messages.len() {
        let role = match &messages[at] {
            Message::System { text } => {
                if text.trim().is_empty() {
                    return Some("an empty system message".into());
                }
                "system"
            }
            Message::User { content } => {
                if content.is_empty() || !content.iter().all(says) {
                    return Some("an empty user message".into());
                }
                "user"
            }
            Message::Assistant { content } => {
                if content.is_empty() {
                    return Some("an empty turn".into());
                }
                let asked = content.iter().filter_map(|part| match part {
                    AssistantPart::Call(call) => Some(call),
                    _ => None,
                });
                for call in asked {
                    if call.id.is_empty() || !ids.insert(call.id.clone()) {
                        return Some(format!("two calls have the id `{}`", call.id));
                    }
                    if fit(&call.name) != call.name {
                        return Some(format!("a call of `{}`", call.name));
                    }
                    at += 1;
                    match messages.get(at) {
                        Some(Message::Tool(answer)) if answer.call_id == call.id && answer.tool == call.name => {}
                        other => return Some(format!("{} is followed by {other:?}", call.id)),
                    }
                }
                "assistant"
            }
            Message::Tool(answer) => return Some(format!("{} answers nothing", answer.call_id)),
        };
        let follows = matches!(messages[at], Message::Tool(_));
        if role == last && role != "system" {
            return Some(format!("twice in a row: {role}"));
        }
        last = if follows { "tool" } else { role };
        at += 1;
    }
    None
}

#[test]
fn each_mistake_is_mended_and_told() {
    let history = vec![
        Message::user("go"),
        calls(&["a", "b", "a"]),
        answer("b", "B"),
        answer("a", "A"),
        Message::Assistant { content: vec![] },
        Message::user("and"),
        Message::user("on"),
        answer("a", "second A"),
        answer("a", "A again"),
        answer("x", "X"),
        calls(&[""]),
    ];
    let (whole, repaired) = repair(history);
    assert_eq!(refused(&whole), None);
    let expected = [
        Message::user("go"),
        calls(&["a", "b", "a_2"]),
        answer("a", "A"),
        answer("b", "B"),
        answer("a_2", "second A"),
        Message::User { content: vec![Part::text("and"), Part::text("on")] },
        calls(&["call_2"]),
    ];
    assert_eq!(whole[..7], expected);
    assert!(matches!(&whole[7], Message::Tool(told) if told.is_error && told.call_id == "call_2"));
    assert_eq!(whole.len(), 8);
    let id = |id: &str| id.to_owned();
    assert_eq!(
        repaired,
        [
            Repaired::SameId { at: 1, from: id("a"), to: id("a_2") },
            Repaired::Late { at: 2, call_id: id("b") },
            Repaired::Empty { at: 4 },
            Repaired::Late { at: 7, call_id: id("a_2") },
            Repaired::Duplicate { at: 8, call_id: id("a") },
            Repaired::Orphan { at: 9, call_id: id("x") },
            Repaired::SameId { at: 10, from: id(""), to: id("call_2") },
            Repaired::Merged { at: 6 },
            Repaired::Dangling { at: 10, call_id: id("call_2") },
        ]
    );
}

#[test]
fn a_call_without_an_answer_does_not_get_that_of_a_later_call() {
    let history = vec![calls(&["a"]), Message::user("again"), calls(&["a"]), answer("a", "now")];
    let (whole, _) = repair(history);
    assert!(matches!(&whole[1], Message::Tool(told) if told.is_error));
    assert_eq!(whole[4], answer("a_2", "now"));
}

fn message() -> impl Strategy<Value = Message> {
    let id = || prop_oneof![Just(""), Just("a"), Just("b"), Just("a_2"), Just("c")];
    let name = || prop_oneof![Just("t"), Just("other"), Just("a b"), Just("")];
    let text = || prop_oneof![Just(""), Just(" "), Just("x")].prop_map(str::to_owned);
    let part = prop_oneof![
        text().prop_map(|text| AssistantPart::Text { text }),
        text().prop_map(|text| AssistantPart::Reasoning { text, signature: None }),
        (id(), name()).prop_map(|(id, name)| {
            AssistantPart::Call(ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() })
        }),
    ];
    prop_oneof![
        text().prop_map(|text| Message::System { text }),
        prop::collection::vec(text().prop_map(Part::text), 0..3).prop_map(|content| Message::User { content }),
        prop::collection::vec(part, 0..4).prop_map(|content| Message::Assistant { content }),
        (id(), name()).prop_map(|(id, name)| {
            Message::Tool(ToolMessage { call_id: id.into(), tool: name.into(), content: vec![], is_error: false })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_providers_accept_it(history in prop::collection::vec(message(), 0..16)) {
        let (whole, repaired) = repair(history.clone());
        prop_assert_eq!(refused(&whole), None, "{:?}", whole);
        prop_assert_eq!(repaired.is_empty(), whole == history, "{:?}", repaired);
        let (again, nothing) = repair(whole.clone());
        prop_assert_eq!(again, whole);
        prop_assert_eq!(nothing, vec![]);
    }
}

//! Tests of long histories, and of histories from outside.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Message, Part,
    message::{AssistantPart, Pruning, Repair, ToolCall, ToolMessage},
    model::{ScriptedModel, Turn},
};

use crate::model::kit::{Runs, call, tools};

#[tokio::test]
async fn the_model_receives_the_pruned_conversation_and_the_run_keeps_all() {
    let model = Arc::new(ScriptedModel::new([
        call(1),
        Turn::default().then_reason("hm").then_say("one"),
        call(2),
        Turn::say("two"),
    ]));
    let runs = Arc::<Runs>::default();
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).instructions("Be kind.");
    let mut session = agent.prune(Pruning::new().keep_rounds(1).drop_reasoning()).session();
    session.send("1").await.unwrap();
    session.send("2").await.unwrap();
    let requests = model.requests();
    assert_eq!(requests[2].messages, [Message::system("Be kind."), Message::user("2")]);
    assert_eq!(requests[3].messages.len(), 4, "the request has the call and its result");
    assert_eq!(session.messages().len(), 8);
}

#[tokio::test]
async fn a_history_from_outside_is_repaired_and_reported() {
    let call_part =
        |id: &str| AssistantPart::Call(ToolCall { id: id.into(), name: "add".into(), arguments: "{}".into() });
    let answer = |id: &str| {
        let content = vec![Part::text("7")];
        Message::Tool(ToolMessage { call_id: id.into(), tool: "add".into(), content, is_error: false })
    };
    let history = vec![
        Message::user("go"),
        Message::Assistant { content: vec![call_part("a"), call_part("b")] },
        Message::user("and?"),
        answer("b"),
        answer("z"),
    ];
    let model = Arc::new(ScriptedModel::new([call(1), Turn::say("ok")]));
    let runs = Arc::<Runs>::default();
    let mut session = Agent::new(Arc::clone(&model)).tools(tools(&runs)).session_from_messages(history);
    let id = |id: &str| id.to_owned();
    assert_eq!(
        session.repairs(),
        [
            Repair::Late { at: 3, call_id: id("b") },
            Repair::Orphan { at: 4, call_id: id("z") },
            Repair::Dangling { at: 1, call_id: id("a") },
        ]
    );
    session.send("on").await.unwrap();
    let messages = &model.requests()[0].messages;
    assert!(matches!(&messages[2], Message::Tool(answer) if answer.call_id == "a" && answer.is_error));
    assert!(matches!(&messages[3], Message::Tool(answer) if answer.call_id == "b" && !answer.is_error));
    let whole = Agent::new(ScriptedModel::new([Turn::say("x")])).session_from_messages(vec![Message::user("hi")]);
    assert!(whole.repairs().is_empty());
}

#[test]
fn unreadable_parts_are_left_out_and_reported() {
    let (messages, unread) = tool_run::message::parse_history(&[
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "look"},
            {"type": "hologram", "data": 1},
            {"type": "call", "id": "a", "name": "add", "arguments": "{}"},
        ]}),
        json!({"role": "tool", "call_id": "a", "tool": "add", "content": [{"type": "smell"}]}),
        json!({"role": "user"}),
        json!("hello"),
    ]);
    assert_eq!(messages.len(), 2);
    let at: Vec<usize> =
        unread.iter().map(|answer| if let Repair::Unread { at, .. } = answer { *at } else { 99 }).collect();
    assert_eq!(at, [0, 1, 2, 3]);
    assert_eq!(tool_run::message::repair(messages.clone()), (messages, vec![]));
}

//! Conversations that follow no rule.

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::json;
use tool_runtime::message::{
    AssistantPart, Media, Message, Part, ProviderPart, ProviderPartKind, ResourceContents, Signature, ToolCall,
    ToolMessage,
};

/// The ids of calls. They are few, so that results often fit, and some become equal if a provider's rule changes them.
const IDS: [&str; 12] = [
    "",
    " ",
    "a",
    "b",
    "a_2",
    "a.b",
    "a:b",
    "abcdefghi",
    "call_abcdefghi",
    "é|x y",
    "an-id-of-many-characters-such-as-some-gateways-and-other-providers-give-it-to-calls-0001",
    "an-id-of-many-characters-such-as-some-gateways-and-other-providers-give-it-to-calls-0002",
];

const NAMES: [&str; 6] = [
    "f",
    "look_up",
    "",
    "multi_tool_use.parallel",
    "größe",
    "a_name_of_more_than_sixty_four_characters_that_a_model_made_up_for_some_reason",
];

const TEXTS: [&str; 9] = ["", " ", "\n\t ", "\u{a0}", "x", "Well, \n", " error", "\u{0}", "{\"ok\":false}"];

/// Returns a strategy for any conversation: any messages in any order, with blank and empty texts, odd and repeated ids and names, and
/// images anywhere. It knows no rule of any provider. A format's encoder must make a request of each that its provider accepts.
pub fn histories() -> impl Strategy<Value = Vec<Message>> {
    vec(segment(), 0..8).prop_map(|segments| segments.concat())
}

/// Returns a strategy for one message, or for a turn with calls and their results. Without the second, few calls have results.
fn segment() -> impl Strategy<Value = Vec<Message>> {
    let results = |calls: Vec<ToolCall>, content: Vec<Part>, is_error| {
        let answer = calls.iter().map(|call| {
            let (call_id, tool) = (call.id.clone(), call.name.clone());
            Message::Tool(ToolMessage { call_id, tool, content: content.clone(), is_error })
        });
        let content = calls.iter().cloned().map(AssistantPart::Call).collect();
        std::iter::once(Message::Assistant { content }).chain(answer).collect()
    };
    prop_oneof![
        2 => message().prop_map(|message| vec![message]),
        1 => (vec(call(), 1..4), vec(part(), 0..3), any::<bool>()).prop_map(move |(calls, content, is_error)| {
            results(calls, content, is_error)
        }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        text().prop_map(|text| Message::System { text }),
        vec(part(), 0..3).prop_map(|content| Message::User { content }),
        vec(assistant_part(), 0..4).prop_map(|content| Message::Assistant { content }),
        (id(), name(), vec(part(), 0..3), any::<bool>()).prop_map(|(call_id, tool, content, is_error)| {
            Message::Tool(ToolMessage { call_id, tool, content, is_error })
        }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let data = || select(vec!["", "AAAA"]).prop_map(str::to_owned);
    let contents = prop_oneof![text().prop_map(ResourceContents::Text), data().prop_map(ResourceContents::Base64)];
    prop_oneof![
        3 => text().prop_map(Part::text),
        1 => text().prop_map(|json| Part::Json { json }),
        1 => data().prop_map(|data| Part::Image(Media::base64("image/png", data))),
        1 => data().prop_map(|data| Part::Audio(Media::base64("audio/wav", data))),
        1 => contents.prop_map(|contents| Part::Resource { uri: "file:///a".to_owned(), media_type: None, contents }),
    ]
}

fn assistant_part() -> impl Strategy<Value = AssistantPart> {
    let signatures = select(vec!["", "seal", "redacted_thinking:xyz", "{\"google\":{}}"]);
    let origins = select(vec!["", "anthropic", "chat@api.openai.com", "responses@api.openai.com"]);
    let signature = option::of((origins, signatures).prop_map(|(origin, value)| Signature::new(origin, value)));
    let kind = select(vec![ProviderPartKind::Call, ProviderPartKind::Result, ProviderPartKind::Failure]);
    let spoiled = option::weighted(0.2, select(vec!["7", "", "{cut"]));
    let provider = select(vec!["anthropic", "openai", ""]);
    prop_oneof![
        2 => text().prop_map(|text| AssistantPart::Text { text }),
        1 => (text(), signature).prop_map(|(text, signature)| AssistantPart::Reasoning { text, signature }),
        2 => call().prop_map(AssistantPart::Call),
        1 => (provider, id(), kind, spoiled).prop_map(|(provider, id, kind, spoiled)| {
            let block = match kind {
                ProviderPartKind::Call => json!({ "type": "server_tool_use", "id": id, "name": "search", "input": {} }),
                _ => json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
            };
            let block = spoiled.map_or_else(|| block.to_string(), str::to_owned);
            AssistantPart::Provider(ProviderPart::new(provider, id, "search", kind, block))
        }),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    let arguments = select(vec!["{}", "{\"x\": 1}", "", "{oops", "null", "[1]"]);
    (id(), name(), arguments).prop_map(|(id, name, arguments)| ToolCall { id, name, arguments: arguments.to_owned() })
}

fn id() -> impl Strategy<Value = String> {
    select(&IDS[..]).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    select(&NAMES[..]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    select(&TEXTS[..]).prop_map(str::to_owned)
}

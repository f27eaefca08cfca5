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

/// Data that only its origin can read, as the formats keep it in a signature. A part of each names the format and the host, so that a
/// rule of a provider finds data of others. Those without an origin are from early records.
const SIGNATURES: [(&str, &str); 21] = [
    ("", "seal"),
    ("", "redacted_thinking:xyz"),
    ("", r#"{"google":{"thought_signature":"CiQChatGoogle"}}"#),
    ("anthropic", "EqQAnthropic"),
    ("anthropic", "redacted_thinking:EqQAnthropic"),
    ("chat@api.openai.com", r#"{"google":{}}"#),
    ("chat@generativelanguage.googleapis.com", r#"{"google":{"thought_signature":"CiQChatGoogle"}}"#),
    (RESPONSES, r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAResponsesOpenai1"}"#),
    (
        RESPONSES,
        r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAAResponsesOpenai2","status":null}"#,
    ),
    (RESPONSES, r#"{"phase":"commentary"}"#),
    (RESPONSES, r#"{"namespace":"maps"}"#),
    (
        "responses@gateway.example.com",
        r#"{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"gAAAAResponsesGateway"}"#,
    ),
    (
        "responses@api.deepseek.com",
        r#"{"type":"reasoning","id":"rs_4","summary":[],"content":[{"type":"reasoning_text","text":"ofDeepSeek"}]}"#,
    ),
    (INTERACTIONS, "thought:CiQInteractionsGoogle"),
    (INTERACTIONS, "call:CiQInteractionsGoogle"),
    ("interactions@europe-west4-aiplatform.googleapis.com", "thought:CiQInteractionsVertex"),
    (GENERATE_CONTENT, "thought:CiQGenerateContentGoogle"),
    (GENERATE_CONTENT, "call:CiQGenerateContentGoogle"),
    (GENERATE_CONTENT, "text:CiQGenerateContentGoogle"),
    (GENERATE_CONTENT, "empty:CiQGenerateContentGoogle"),
    ("generate_content@europe-west4-aiplatform.googleapis.com", "call:CiQGenerateContentVertex"),
];

/// Signatures that no origin could have sent.
const SPOILED_SIGNATURES: [&str; 6] = ["", " ", "7", "{cut", ":", "null"];

/// The origin of the data of OpenAI's Responses API.
pub const RESPONSES: &str = "responses@api.openai.com";
/// The origin of the data of Gemini's Interactions API.
pub const INTERACTIONS: &str = "interactions@generativelanguage.googleapis.com";
/// The origin of the data of Gemini's `generateContent`.
pub const GENERATE_CONTENT: &str = "generate_content@generativelanguage.googleapis.com";

/// Returns a strategy for any conversation: any messages in any order, with blank and empty texts, odd and repeated ids and names, and
/// images and documents anywhere, as bytes and by their addresses. It has signatures and blocks of tools of every format, from
/// several hosts. It knows no rule of any provider. A format's encoder must make a request of each that its provider accepts.
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
    let media = |media_type: &'static str, url: &'static str| {
        let bytes = data().prop_map(move |data| Media::base64(media_type, data));
        let named = data().prop_map(move |data| Media::base64(media_type, data).with_name("größe.pdf"));
        let address = select(vec![url, "file:///a", ""]).prop_map(Media::url);
        prop_oneof![bytes, named, address]
    };
    let contents = prop_oneof![text().prop_map(ResourceContents::Text), data().prop_map(ResourceContents::Base64)];
    prop_oneof![
        3 => text().prop_map(Part::text),
        1 => text().prop_map(|json| Part::Json { json }),
        1 => media("image/png", "https://example.com/a.png").prop_map(Part::Image),
        1 => media("audio/wav", "https://example.com/a.wav").prop_map(Part::Audio),
        1 => media("application/pdf", "https://example.com/a.pdf").prop_map(Part::Document),
        1 => select(vec!["", "iVBORw0KGgo="]).prop_map(|data| Part::Image(Media::base64("image/png", data))),
        2 => odd_media(),
        1 => contents.prop_map(|contents| Part::Resource { uri: "file:///a".to_owned(), media_type: None, contents }),
    ]
}

/// Media with every kind of source: some are of types that no API takes, have wrong labels, or are malformed.
fn odd_media() -> impl Strategy<Value = Part> {
    let media_types = select(vec!["image/png", "image/svg+xml", "audio/ogg", "application/pdf", "text/csv", ""]);
    let bytes = select(vec!["/9j/4AAQSkZJRg==", "JVBERi0xLjc=", "YSxiCg==", "IA==", "A", "UEsDBA=="]);
    let addresses = select(vec!["https://a/b", "http://a/b.pdf", "file:///etc/passwd", "data:image/png,x", ""]);
    let source = prop_oneof![
        (media_types.clone(), bytes).prop_map(|(media_type, data)| Media::base64(media_type, data)),
        addresses.clone().prop_map(Media::url),
        (media_types, addresses).prop_map(|(media_type, url)| Media::url(url).with_media_type(media_type)),
    ];
    (source, select(vec![Part::Image, Part::Audio, Part::Document])).prop_map(|(media, part)| part(media))
}

fn assistant_part() -> impl Strategy<Value = AssistantPart> {
    prop_oneof![
        2 => text().prop_map(|text| AssistantPart::Text { text }),
        2 => (text(), option::of(signature())).prop_map(|(text, signature)| AssistantPart::Reasoning { text, signature }),
        2 => call().prop_map(AssistantPart::Call),
        1 => provider_part().prop_map(AssistantPart::Provider),
    ]
}

fn signature() -> impl Strategy<Value = Signature> {
    let origins = select(SIGNATURES.map(|(origin, _)| origin).to_vec());
    prop_oneof![
        4 => select(&SIGNATURES[..]).prop_map(|(origin, value)| Signature::new(origin, value)),
        1 => (origins, select(&SPOILED_SIGNATURES[..])).prop_map(|(origin, value)| Signature::new(origin, value)),
    ]
}

/// Returns a strategy for a block of a tool that a provider runs. Calls have results only by chance.
fn provider_part() -> impl Strategy<Value = ProviderPart> {
    let providers = select(vec!["anthropic", "openai", "", RESPONSES, INTERACTIONS, GENERATE_CONTENT]);
    let kind = select(vec![ProviderPartKind::Call, ProviderPartKind::Result, ProviderPartKind::Failure]);
    let spoiled = option::weighted(0.2, select(vec!["7", "", "{cut", "[]"]));
    (providers, id(), kind, spoiled).prop_map(|(provider, id, kind, spoiled)| {
        // The server of a newer format gave the id itself.
        let id = if provider.contains('@') { format!("srv_{}", id.len()) } else { id };
        let block = match (provider, kind) {
            (RESPONSES, ProviderPartKind::Call) => json!({ "type": "shell_call", "call_id": id, "action": {} }),
            (RESPONSES, ProviderPartKind::Result) => {
                json!({ "type": "shell_call_output", "call_id": id, "output": [] })
            }
            (RESPONSES, _) => json!({ "type": "web_search_call", "id": format!("ws_{id}"), "status": "failed" }),
            (INTERACTIONS, ProviderPartKind::Call) => {
                json!({ "type": "google_search_call", "id": id, "arguments": {} })
            }
            (INTERACTIONS, _) => json!({ "type": "google_search_result", "call_id": id, "result": [] }),
            (GENERATE_CONTENT, ProviderPartKind::Call) => {
                json!({ "executableCode": { "language": "PYTHON", "code": "1" } })
            }
            (GENERATE_CONTENT, _) => json!({ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1" } }),
            (_, ProviderPartKind::Call) => {
                json!({ "type": "server_tool_use", "id": id, "name": "search", "input": {} })
            }
            _ => json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [] }),
        };
        let block = spoiled.map_or_else(|| block.to_string(), str::to_owned);
        ProviderPart::new(provider, id, "search", kind, block)
    })
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

//! Tests that no request breaks a rule of its provider: whatever the conversation, and when another provider continues a conversation.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use tool_run::message::{AssistantPart, Media, Message, Part, Pruning, ToolMessage, repair};
use tool_runtime::{
    model::{Request, Turn},
    schema::Schema,
    tool::ToolSpec,
    toolset::ToolList,
};
use tool_test_kit::{
    histories::histories,
    provider_rules::violations,
    streams::{StreamPart, WireFormat},
};

use crate::{
    anthropic::{self, Anthropic},
    gemini::{self, Gemini, generate_content, interactions},
    http::response::testing::{decode, turn_of},
    openai::{self, MediaRules, MessageRules, OpenAi, ResponsesDecoder},
};

/// The hosts of [`MessageRules::OpenAi`], of the others, and of all. The gateways are those to Anthropic.
const LENIENT: [&str; 3] = ["openai", "deepseek", "gateways"];
const STRICT: [&str; 7] = ["openai", "deepseek", "gateways", "gemini", "moonshot", "perplexity", "templates"];
const ALL: [&str; 8] = ["openai", "deepseek", "gateways", "gemini", "moonshot", "perplexity", "templates", "mistral"];

/// Returns the bodies of the format's requests, each with its protocol and the hosts whose rules it must follow.
fn write_bodies(format: WireFormat, request: &Request<'_>) -> Vec<(&'static str, &'static [&'static str], Vec<u8>)> {
    let chat = |rules, reasoning| {
        let model = OpenAi::new("m").api(openai::Api::Chat).message_rules(rules).send_reasoning(reasoning);
        // The strict hosts are not OpenAI, and take less.
        let media = MediaRules { images: true, ..MediaRules::default() };
        let model = if rules == MessageRules::OpenAi { model } else { model.media_rules(media) };
        openai::chat::request::write_body(&model, request)
    };
    match format {
        WireFormat::Chat => vec![
            ("chat_completions", &LENIENT, chat(MessageRules::OpenAi, false)),
            ("chat_completions", &STRICT, chat(MessageRules::Strict, true)),
            ("chat_completions", &ALL, chat(MessageRules::Mistral, false)),
        ],
        WireFormat::Anthropic => {
            vec![("messages", &["anthropic"], anthropic::request::write_body(&Anthropic::new("m"), request))]
        }
        WireFormat::Responses => {
            vec![("responses", &["openai"], openai::responses::request::write_body(&OpenAi::new("m"), request))]
        }
        WireFormat::Interactions => {
            vec![("interactions", &["gemini"], interactions::request::write_body(&Gemini::new("m"), request))]
        }
        WireFormat::GenerateContent => {
            let model = Gemini::new("gemini-3.5-flash").api(gemini::Api::GenerateContent);
            vec![("generate_content", &["gemini"], generate_content::request::write_body(&model, request))]
        }
    }
}

/// Decodes a turn that arrives in the format, after these messages.
fn decode_turn(format: WireFormat, events: &[Value], messages: &[Message], tools: &ToolList) -> Turn {
    let events = events.iter().map(Value::to_string);
    let deltas = match format {
        WireFormat::Chat => decode(openai::Decoder::new(messages, tools).with_origin("chat@api.openai.com"), events),
        WireFormat::Anthropic => decode(anthropic::Decoder::new(messages, tools), events),
        WireFormat::Responses => {
            decode(ResponsesDecoder::new(messages, tools).with_origin("responses@api.openai.com"), events)
        }
        WireFormat::Interactions => {
            let origin = "interactions@generativelanguage.googleapis.com";
            decode(interactions::Decoder::new(messages, tools).with_origin(origin), events)
        }
        WireFormat::GenerateContent => {
            let origin = "generate_content@generativelanguage.googleapis.com";
            decode(generate_content::Decoder::new(messages, tools).with_origin(origin), events)
        }
    };
    turn_of(deltas.unwrap_or_else(|error| panic!("{format:?}: {error}")))
}

fn tools() -> ToolList {
    let tool = |name: &str, is_strict: bool| {
        let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
        let mut spec = ToolSpec::new(name, format!("does {name}"), Schema::new(schema));
        spec.options.strict = is_strict;
        Arc::new(spec)
    };
    ToolList::new(vec![tool("f", false), tool("look_up", true)])
}

/// Checks the requests of all formats. `check` receives each with its body as a text.
fn check_with(
    messages: &[Message],
    check: impl Fn(WireFormat, &str) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let tools = tools();
    let request = Request::new(messages, &tools);
    for format in WireFormat::ALL {
        for (protocol, hosts, body) in write_bodies(format, &request) {
            let body: Value = serde_json::from_slice(&body).expect("a body is JSON");
            let broken = violations(protocol, hosts, &body);
            prop_assert!(broken.is_empty(), "{protocol} at {hosts:?}:\n{}\nin {body:#}", broken.join("\n"));
            check(format, &body.to_string())?;
        }
    }
    Ok(())
}

fn check(messages: &[Message]) -> Result<(), TestCaseError> {
    check_with(messages, |_, _| Ok(()))
}

/// Returns a strategy for the parts of a turn in any format, with the seals of that format.
fn turns() -> impl Strategy<Value = (WireFormat, Vec<StreamPart>)> {
    let names = select(vec!["f", "look_up", "größe", "a.b"]);
    let ids = select(vec!["call_0", "call_1", "functions.f:0", "toolu_01"]);
    let arguments = select(vec!["{}", "{\"x\":1}", "{\"x\":\"é \\\"\"}"]);
    let call = (ids, names, arguments).prop_map(|(id, name, arguments)| StreamPart::call(id, name, arguments));
    let reasoning = (select(vec!["", "Hm."]), any::<bool>());
    let text = select(vec!["Well.", "\n"]).prop_map(|text| StreamPart::Text(text.to_owned()));
    let part = prop_oneof![
        1 => reasoning.prop_map(|(text, is_sealed)| StreamPart::reasoning(text, if is_sealed { "seal" } else { "" })),
        1 => text,
        2 => call,
    ];
    (select(WireFormat::ALL.to_vec()), vec(part, 0..5)).prop_map(|(format, mut parts)| {
        // A turn without content is no turn.
        parts.push(StreamPart::Text("So.".to_owned()));
        for part in &mut parts {
            if let StreamPart::Reasoning { seal, .. } = part
                && !seal.is_empty()
            {
                format.seal().clone_into(seal);
            }
        }
        (format, parts)
    })
}

/// Returns the conversation in which the models answer with these turns, one after another. Each call gets a result, of which every
/// second one is a failure with a picture.
fn grow(turns: &[(WireFormat, Vec<StreamPart>)]) -> Vec<Message> {
    let tools = tools();
    let mut messages = Vec::new();
    for (number, (format, parts)) in turns.iter().enumerate() {
        if !matches!(messages.last(), Some(Message::Tool(_))) {
            messages.push(Message::user(format!("prompt {number}.")));
        }
        let turn = decode_turn(*format, &format.events(parts, 3), &messages, &tools);
        let calls: Vec<_> = turn.calls().cloned().collect();
        messages.push(Message::Assistant { content: turn.content });
        messages.extend(calls.into_iter().enumerate().map(|(at, call)| {
            let is_error = at % 2 == 1;
            let picture = is_error.then(|| Part::Image(Media::base64("image/png", "AAAA")));
            let text = Part::text(format!("result {number} {at}."));
            let content = picture.into_iter().chain([text]).collect();
            Message::Tool(ToolMessage { call_id: call.id, tool: call.name, content, is_error })
        }));
    }
    messages
}

/// Returns whether a turn has a seal that its own format must get back: one before a call.
fn has_sealed_call(content: &[AssistantPart], seal: &str) -> bool {
    let is_sealed = |part: &AssistantPart| {
        let AssistantPart::Reasoning { signature: Some(signature), .. } = part else { return false };
        signature.value.contains(seal)
    };
    content.windows(2).any(|pair| is_sealed(&pair[0]) && matches!(pair[1], AssistantPart::Call(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A run repairs a conversation from outside, and may leave out parts. The encoders receive others as they are.
    #[test]
    fn no_request_breaks_a_rule(history in histories()) {
        check(&history)?;
        check(&Pruning::new().keep_rounds(1).drop_reasoning().shorten_results(0, 2).apply(&history))?;
        check(&repair(history).0)?;
    }

    /// Any model may continue a conversation that others began. Each gets its own seals back, and no others. Nothing that people and
    /// tools wrote is lost.
    #[test]
    fn any_model_continues_a_conversation(turns in vec(turns(), 1..5)) {
        let messages = grow(&turns);
        check_with(&messages, |format, body| {
            for other in WireFormat::ALL.into_iter().filter(|other| *other != format) {
                prop_assert!(!body.contains(other.seal()), "{format:?} gets a seal of {other:?} in {body}");
            }
            for message in &messages {
                let is_there = match message {
                    Message::User { content } | Message::Tool(ToolMessage { content, .. }) => {
                        content.iter().filter_map(Part::as_text).all(|text| body.contains(text))
                    }
                    Message::Assistant { content } => {
                        !has_sealed_call(content, format.seal()) || body.contains(format.seal())
                    }
                    Message::System { .. } => true,
                };
                prop_assert!(is_there, "{format:?} lost a part of {message:?} in {body}");
            }
            Ok(())
        })?;
    }
}

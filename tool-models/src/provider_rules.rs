//! A test that no request breaks a rule of its provider, whatever the conversation.

use proptest::prelude::*;
use serde_json::Value;

use tool_run::message::{Message, Pruning, repair};
use tool_runtime::{model::Request, toolset::ToolList};
use tool_test_kit::{histories::histories, provider_rules::violations};

use crate::{
    anthropic::{self, Anthropic},
    openai::{self, MessageRules, OpenAi},
};

/// The hosts of [`MessageRules::OpenAi`], of the others, and of all. The gateways are those to Anthropic.
const LENIENT: [&str; 3] = ["openai", "deepseek", "gateways"];
const STRICT: [&str; 7] = ["openai", "deepseek", "gateways", "gemini", "moonshot", "perplexity", "templates"];
const ALL: [&str; 8] = ["openai", "deepseek", "gateways", "gemini", "moonshot", "perplexity", "templates", "mistral"];

fn check(messages: &[Message]) -> Result<(), TestCaseError> {
    let tools = ToolList::default();
    let request = Request::new(messages, &tools);
    let chat = |rules, reasoning| {
        let model = OpenAi::new("m").message_rules(rules).send_reasoning(reasoning);
        openai::chat::request::write_body(&model, &request)
    };
    let bodies = [
        ("chat_completions", &LENIENT[..], chat(MessageRules::OpenAi, false)),
        ("chat_completions", &STRICT[..], chat(MessageRules::Strict, true)),
        ("chat_completions", &ALL[..], chat(MessageRules::Mistral, false)),
        ("messages", &["anthropic"][..], anthropic::request::write_body(&Anthropic::new("m"), &request)),
    ];
    for (protocol, hosts, body) in bodies {
        let body: Value = serde_json::from_slice(&body).expect("a body is JSON");
        let broken = violations(protocol, hosts, &body);
        prop_assert!(broken.is_empty(), "{hosts:?}:\n{}\nin {body:#}", broken.join("\n"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A run repairs a conversation from outside, and may leave out parts. The encoders receive others as they are.
    #[test]
    fn no_request_breaks_a_rule(history in histories()) {
        check(&history)?;
        check(&Pruning::new().keep_rounds(1).drop_reasoning().shorten_results(0, 2).apply(&history))?;
        check(&repair(history).0)?;
    }
}

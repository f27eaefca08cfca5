//! The whole conversation of the example `approvals` with a scripted server, in each wire format: two calls, an approval, and a process
//! that ends in between.

use serde_json::Value;
use tool_test_kit::{
    provider_rules::violations,
    streams::{StreamPart, WireFormat},
};

use crate::{
    approvals::Shop,
    kit::{event_stream, server},
};

/// A wire format, with what selects it and the rules of its provider.
struct Case {
    format: WireFormat,
    /// The variable with the server's address.
    address: &'static str,
    variables: &'static [(&'static str, &'static str)],
    protocol: &'static str,
    host: &'static str,
}

const CASES: [Case; 5] = [
    Case {
        format: WireFormat::Chat,
        address: "OPENAI_BASE_URL",
        variables: &[("OPENAI_MODEL", "m")],
        protocol: "chat_completions",
        host: "openai",
    },
    Case {
        format: WireFormat::Responses,
        address: "OPENAI_BASE_URL",
        variables: &[("OPENAI_MODEL", "m"), ("OPENAI_API", "responses")],
        protocol: "responses",
        host: "openai",
    },
    Case {
        format: WireFormat::Interactions,
        address: "GEMINI_BASE_URL",
        variables: &[("GEMINI_MODEL", "m"), ("GEMINI_API_KEY", "k")],
        protocol: "interactions",
        host: "gemini",
    },
    Case {
        format: WireFormat::GenerateContent,
        address: "GEMINI_BASE_URL",
        variables: &[("GEMINI_MODEL", "m"), ("GEMINI_API_KEY", "k"), ("GEMINI_API", "generate_content")],
        protocol: "generate_content",
        host: "gemini",
    },
    Case {
        format: WireFormat::Anthropic,
        address: "ANTHROPIC_BASE_URL",
        variables: &[("ANTHROPIC_MODEL", "m"), ("ANTHROPIC_API_KEY", "k")],
        protocol: "messages",
        host: "anthropic",
    },
];

/// Returns the responses of the server. The calls have what the provider wants back.
fn script(format: WireFormat) -> Vec<String> {
    let turn = |number: u32, name: &str, arguments: &str| {
        vec![
            StreamPart::reasoning("Hm.", &format!("{}{number}", format.seal())),
            StreamPart::call(&format!("call_{number}"), name, arguments),
        ]
    };
    let turns = [
        turn(1, "find_order", r#"{"order":"A102"}"#),
        turn(2, "refund", r#"{"order":"A102","amount":40}"#),
        vec![StreamPart::Text("Grace has 40 euros again.".to_owned())],
    ];
    let events = |turn: &Vec<StreamPart>| format.events(turn, 5).iter().map(Value::to_string).collect::<Vec<_>>();
    turns.iter().map(|turn| event_stream(&events(turn))).collect()
}

#[test]
fn a_refund_is_approved_and_paid_in_each_wire_format() {
    for Case { format, address, variables, protocol, host } in CASES {
        let (url, asked) = server(script(format));
        let mut shop = Shop::new();
        shop.model = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        shop.model.push((address, url));
        let id = shop.request_refund();
        assert!(shop.ledger().is_empty(), "{format:?}");
        shop.run_ok(&["approve", &id]);
        let resumed = shop.run_ok(&["resume"]);
        assert!(resumed.contains("Grace has 40 euros again."), "{format:?}: {resumed}");
        assert_eq!(shop.ledger().len(), 1, "{format:?}: {:?}", shop.ledger());

        let requests = asked.join().unwrap();
        for request in &requests {
            let request: Value = serde_json::from_str(request).unwrap();
            let broken = violations(protocol, &[host], &request);
            assert!(broken.is_empty(), "{format:?}: {}\nin {request:#}", broken.join("\n"));
        }
        // Another process than the one that asked for the refund sent the last one.
        let last = &requests[2];
        for number in [1, 2] {
            let seal = format!("{}{number}", format.seal());
            assert!(last.contains(&seal), "{format:?} does not get back {seal}: {last}");
        }
        for part in ["find_order", "Grace", "refund", "40 euros were paid back to Grace"] {
            assert!(last.contains(part), "{format:?}: no {part} in {last}");
        }
    }
}

//! Tests of records that an older version has stored.

use serde_json::json;
use tool_run::run::Digest;
use tool_runtime::{agent::Decision, tool::ToolSpec};

use crate::{
    kit::{Effects, payments, resume, start_waiting, stores},
    store_hooks::Wrapped,
    suite::grants::payment_tool,
};

/// Returns the fingerprint in older records, in which texts counted.
fn fingerprint_with_texts(tool: &ToolSpec) -> String {
    let definition = json!({
        "name": tool.name, "description": tool.description, "version": tool.options.version,
        "input": tool.input.neutral(), "output": null, "effect": "destructive", "approval": "always",
        "idempotent": false, "external": false,
    });
    Digest::of(tool_schema::schema::canonical_value(&definition)).to_string()
}

#[tokio::test]
async fn s03_an_older_interrupt_can_be_decided_if_its_tool_is_unchanged() {
    let edit = || Decision::Edit { arguments: json!({ "amount": 6 }) };
    for store in stores().await {
        for (decision, description, expected) in [
            (Decision::Approve, "Pays.", &["1 pays 5"] as &[&str]),
            (edit(), "Pays.", &["1 pays 6"]),
            // The older record does not show which of the two has changed.
            (Decision::Approve, "Pays twice.", &[]),
        ] {
            let effects = Effects::new();
            let tools = payment_tool(&effects, "Pays.", "1", &[]);
            let spec = tools.get("pay").unwrap().spec();
            let (now, then) = (spec.fingerprint().to_string(), fingerprint_with_texts(spec));
            assert_ne!(now, then);
            let (agent, id, interrupts) = start_waiting(&store, tools, payments(&[5])).await;
            let older = Wrapped::new(&store).tampered(move |text| text.replace(&now, &then));
            let agent = agent.store(older).tools(payment_tool(&effects, description, "1", &[]));
            let _ = agent.decide(&id, &interrupts[0].id, decision, "").await;
            resume(&agent, &id).await;
            assert_eq!(effects.all(), expected, "{description}");
        }
    }
}

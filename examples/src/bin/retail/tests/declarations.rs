//! Declarations of the tools, for a model and for the runtime.

use std::collections::BTreeSet;
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::schema::{Schema, Validator};
use tool_runtime::tool::{Approval, Effect};
use tool_runtime::toolset::ListFormat;
use tool_runtime::{Context, Toolset};

use super::{package, shop, wait};
use crate::tools;

#[derive(Deserialize)]
struct Task {
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct Action {
    name: String,
    arguments: Value,
}

/// The tools as a model of chat completions sees them.
fn offered(tools: &Toolset) -> Vec<Value> {
    serde_json::from_str(tools.list().json(ListFormat::OpenAi).get()).unwrap()
}

/// A tool of ours in the words of the reference.
///
/// Ours differs on purpose: it forbids parameters that the tool does not have, says nothing where nothing is required,
/// and keeps the line breaks of a doc comment.
fn as_reference(mut tool: Value) -> Value {
    let unbroken = |text: &mut Value| *text = text.as_str().unwrap().replace('\n', " ").into();
    unbroken(&mut tool["function"]["description"]);
    let schema = tool["function"]["parameters"].as_object_mut().unwrap();
    assert_eq!(schema.remove("additionalProperties"), Some(json!(false)));
    schema.entry("required").or_insert_with(|| json!([]));
    let properties = schema["properties"].as_object_mut().unwrap();
    properties.values_mut().for_each(|property| unbroken(&mut property["description"]));
    tool
}

#[test]
fn a_model_reads_the_words_of_the_reference() {
    let order = "The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.";
    let reason = "The reason for cancellation, which should be either 'no longer needed' or 'ordered by mistake'.";
    let tools = tools::of(shop()).filter(|spec| spec.name == "cancel_pending_order");
    let mut cancel = as_reference(offered(&tools).remove(0));
    let description = cancel["function"]["description"].take();
    assert!(description.as_str().unwrap().ends_with(" The function returns the order details after the cancellation."));
    let expected = json!({"type": "function", "function": {
        "name": "cancel_pending_order",
        "description": null,
        "parameters": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "description": order},
                "reason": {
                    "type": "string", "enum": ["no longer needed", "ordered by mistake"], "description": reason,
                },
            },
            "required": ["order_id", "reason"],
        },
    }});
    assert_eq!(cancel, expected);
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn all_tools_are_those_of_the_reference() {
    let reference = fs::read_to_string(package("../../shared/data/tau-bench/retail.tools.json")).unwrap();
    let reference: Vec<Value> = serde_json::from_str(&reference).unwrap();
    let ours: Vec<Value> = offered(&tools::of(shop())).into_iter().map(as_reference).collect();
    for (ours, reference) in ours.iter().zip(&reference) {
        assert_eq!(ours, reference);
    }
    assert_eq!(ours.len(), reference.len());
}

#[test]
fn what_changes_records_is_approved_first() {
    let tools = tools::of(shop());
    let named = |wanted: Effect, approval: Approval| -> Vec<String> {
        let chosen = tools.filter(|spec| spec.traits.effect == wanted && spec.traits.approval == approval);
        chosen.names().map(str::to_owned).collect()
    };
    assert_eq!(
        named(Effect::Destructive, Approval::Always),
        [
            "cancel_pending_order",
            "exchange_delivered_order_items",
            "modify_pending_order_items",
            "return_delivered_order_items",
        ]
    );
    assert_eq!(
        named(Effect::Write, Approval::Always),
        ["modify_pending_order_address", "modify_pending_order_payment", "modify_user_address"]
    );
    assert_eq!(named(Effect::Write, Approval::Never), ["transfer_to_human_agents"]);
    assert_eq!(named(Effect::ReadOnly, Approval::Never).len(), 8);
}

#[test]
fn arguments_and_outputs_are_as_described() {
    let tasks = fs::read_to_string(package("src/bin/retail/extract/retail.tasks.jsonl")).unwrap();
    let mut seen = BTreeSet::new();
    for line in tasks.lines() {
        let task: Task = serde_json::from_str(line).unwrap();
        let tools = tools::of(shop());
        for Action { name, arguments } in task.actions {
            let spec = tools.get(&name).unwrap().spec();
            fits(&spec.input, &arguments);
            if let Ok(output) = wait(tools.call(&name, &arguments.to_string(), &Context::new("call_1"))) {
                fits(spec.output.as_ref().unwrap(), &output.decode().unwrap());
                seen.insert(name);
            }
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
}

fn fits(schema: &Schema, value: &Value) {
    let problems = Validator::compile(schema.neutral()).unwrap().problems(value, "");
    assert!(problems.is_empty(), "{problems:?}\n{value}\n{}", schema.neutral());
}

tool_test_kit::toolset_tests!("retail", tools::of(shop()));

//! Tests of the portable form with many schemas: no host refuses it, and it accepts what the original accepts.

#![allow(clippy::option_option, reason = "what users write")]

use std::collections::BTreeMap;

use serde_json::Value;
use tool_runtime::{
    Context,
    schema::{Dialect, Schema},
    tool, toolset,
};
use tool_test_kit::list_rules::{list_rules, refusals};

use crate::{all_toolsets::toolsets, shared_data};

fn form(schema: &Schema, dialect: Dialect) -> Value {
    serde_json::from_str(schema.lowered(dialect).json().get()).unwrap()
}

/// The providers, whose rules a form for one of them need not follow.
const OTHERS_THAN_OPENAI: [&str; 5] = ["anthropic", "gemini", "gemini_gateway", "moonshot", "ollama"];
const OTHERS_THAN_ANTHROPIC: [&str; 5] = ["openai", "gemini", "gemini_gateway", "moonshot", "ollama"];

/// Returns the reasons why a host refuses the portable form, or why its provider or a grammar decoder refuses a strict one.
fn all_refusals(schema: &Schema) -> Vec<String> {
    let mut found = refusals(&form(schema, Dialect::Portable), &[]);
    found.extend(refusals(&form(schema, Dialect::OpenAiStrict), &OTHERS_THAN_OPENAI));
    found.extend(refusals(&form(schema, Dialect::Anthropic), &OTHERS_THAN_ANTHROPIC));
    found
}

#[test]
fn no_host_refuses_the_list_of_a_fixture() {
    let mut count = 0;
    for (name, tools) in toolsets() {
        for tool in tools.iter() {
            count += 1;
            let found = all_refusals(&tool.spec().input);
            assert!(found.is_empty(), "{name} {}: {}", tool.spec().name, found.join("\n"));
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn no_host_refuses_a_real_schema() {
    let data = shared_data::data();
    let (mut count, mut found) = (0, Vec::new());
    for (name, schema, _) in crate::schema::schemas(&data) {
        count += 1;
        let refused = refusals(&form(&Schema::new(schema), Dialect::Portable), &[]);
        found.extend(refused.into_iter().map(|reason| format!("{name}: {reason}")));
    }
    assert!(found.is_empty(), "{} of {count} schemas: {}", found.len(), found[..found.len().min(5)].join("\n"));
    assert!(count > 3_000, "{count}");
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn the_form_accepts_all_valid_values_and_refuses_most_others() {
    let data = shared_data::data();
    let (mut valid, mut invalid, mut refused, mut failures) = (0, 0, 0, Vec::new());
    let mut losses: BTreeMap<String, usize> = BTreeMap::new();
    for (name, schema, tests) in crate::schema::schemas(&data) {
        let schema = Schema::new(schema);
        let lowered = schema.lowered(Dialect::Portable);
        for loss in lowered.losses() {
            *losses.entry(format!("{} {:?}", loss.keyword, loss.severity)).or_default() += 1;
        }
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&form(&schema, Dialect::Portable)).unwrap();
        for test in &tests {
            let value: Value = serde_json::from_str(&lowered.wrap(&test["data"].to_string())).unwrap();
            match (test["valid"] == true, validator.is_valid(&value)) {
                (true, true) => valid += 1,
                (true, false) => failures.push(format!("{name}: {value}")),
                (false, accepted) => {
                    invalid += 1;
                    refused += usize::from(!accepted);
                }
            }
        }
    }
    eprintln!("{valid} valid values accepted, {refused} of {invalid} invalid values refused\nlosses: {losses:#?}");
    assert!(failures.is_empty(), "{}", failures[..failures.len().min(10)].join("\n"));
    assert!(valid > 2_500 && invalid > 1_000, "{valid} {invalid}");
    // The exact schemas refuse all but one of them.
    assert!(refused * 1_000 >= invalid * 974, "{refused} of {invalid}");
}

/// Change a person.
#[tool(allow(undescribed))]
fn change(
    age: Option<Option<u8>>,
    size: Option<u8>,
    marks: Option<Vec<Option<u8>>>,
    mails: Vec<Option<String>>,
) -> bool {
    mails.len() > 1 || age.is_some() || size.is_some() || marks.is_some()
}

#[tokio::test]
async fn null_stays_where_it_means_something() {
    let tools = toolset!(change);
    let schema = &tools.get("change").unwrap().spec().input;
    let portable = form(schema, Dialect::Portable);
    let has_null = |schema: &Value| schema.to_string().contains("null");
    let property = |name: &str| &portable["properties"][name];
    // The decoder reads null as if the parameter were left out, except for an `Option<Option<_>>`.
    assert!(has_null(&property("age")["anyOf"]) && !has_null(property("size")), "{portable}");
    for (arguments, changes) in [
        (r#"{"mails":[""]}"#, "false"),
        (r#"{"mails":[null],"size":null}"#, "false"),
        (r#"{"mails":[],"age":null}"#, "true"),
    ] {
        let output = tools.call("change", arguments, &Context::new("c")).await.unwrap();
        assert_eq!(output.as_json(), Some(changes), "{arguments}");
    }
    assert_eq!(property("marks")["type"], "array");
    assert!(has_null(property("marks")) && has_null(property("mails")), "{portable}");
    // A strict form keeps it, and so does the portable form of a schema that was not declared.
    assert!(has_null(&form(schema, Dialect::OpenAiStrict)["properties"]["size"]));
    let remote = Schema::new(schema.neutral().clone());
    assert!(has_null(&form(&remote, Dialect::Portable)["properties"]["size"]));
    // A required property that accepts null keeps it.
    let required =
        serde_json::json!({"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]});
    assert!(has_null(&form(&Schema::from_schemars(required), Dialect::Portable)));
}

#[test]
fn the_guide_has_every_rule() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/parameters.md")).unwrap();
    let name = |host: &String| match host.as_str() {
        "openai" => "OpenAI".to_owned(),
        "anthropic" => "Anthropic".to_owned(),
        "gemini" => "Gemini".to_owned(),
        "gemini_gateway" => "Gemini behind a gateway".to_owned(),
        "moonshot" => "Moonshot".to_owned(),
        "ollama" => "Ollama".to_owned(),
        "mcp clients" => "MCP clients".to_owned(),
        decoder => decoder.to_owned(),
    };
    for rule in list_rules() {
        let hosts = rule.hosts.iter().map(name).collect::<Vec<_>>().join(", ");
        let row = format!("| {hosts} | {} | [{}]({}) {} |\n", rule.rule, rule.seen, rule.source, rule.date);
        assert!(guide.contains(&row), "docs/parameters.md has no such row:\n{row}");
    }
    assert_eq!(guide.matches("| [reported](").count() + guide.matches("| [measured](").count(), list_rules().len());
}

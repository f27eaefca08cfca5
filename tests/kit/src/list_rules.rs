//! The rules of providers and local servers for the schemas in a list of tools, and checks of a schema against them.
//!
//! The rules are data: `tool-runtime/src/toolset/lint/list_rules.json`. The linter has the same rules, with our own evaluator of
//! schemas. Here, the library `jsonschema` reads them. A rule is reported by others, with the source and its date, or measured
//! with the version of a decoder in its source.
//! A rule states one check, and has a schema that it refuses:
//!
//! - `root`: a JSON Schema of the root of the parameters.
//! - `node`: a JSON Schema of each schema in the parameters.
//! - `check`: the name of a function of this module.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

static RULES: LazyLock<Vec<ListRule>> = LazyLock::new(|| {
    let rules: Vec<Value> =
        serde_json::from_str(include_str!("../../../tool-runtime/src/toolset/lint/list_rules.json"))
            .expect("valid JSON");
    rules.iter().map(ListRule::new).collect()
});

/// A rule of one or several hosts.
pub struct ListRule {
    /// The hosts that refuse a request with a schema which breaks the rule.
    pub hosts: Vec<String>,
    /// The rule as a sentence.
    pub rule: String,
    /// The address of the source.
    pub source: String,
    /// `reported` or `measured`.
    pub seen: String,
    /// The date of the report or of the measurement.
    pub date: String,
    /// A schema of parameters that breaks the rule.
    pub refuses: Value,
    check: Check,
}

enum Check {
    Root(Validator),
    Node(Validator),
    Function(fn(&Value) -> bool),
    Whole(fn(&Value) -> bool),
}

/// Returns all rules.
pub fn list_rules() -> &'static [ListRule] {
    &RULES
}

/// Returns the reasons why a host refuses `parameters`. The rules of the hosts in `except` are not checked.
pub fn refusals(parameters: &Value, except: &[&str]) -> Vec<String> {
    let applies = |rule: &&ListRule| rule.hosts.iter().any(|host| !except.contains(&host.as_str()));
    RULES.iter().filter(applies).filter_map(|rule| rule.refusal(parameters)).collect()
}

impl ListRule {
    fn new(rule: &Value) -> Self {
        let text = |name: &str| rule[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {rule}")).to_owned();
        let schema = |name: &str| jsonschema::validator_for(&rule[name]).expect("a JSON Schema");
        let check = if rule.get("root").is_some() {
            Check::Root(schema("root"))
        } else if rule.get("node").is_some() {
            Check::Node(schema("node"))
        } else {
            match text("check").as_str() {
                "required_names_have_properties" => Check::Function(required_names_have_properties),
                "one_description_for_a_reference" => Check::Whole(one_description_for_a_reference),
                other => panic!("there is no check called {other}"),
            }
        };
        let hosts = rule["hosts"].as_array().expect("a list of hosts").iter();
        Self {
            hosts: hosts.map(|host| host.as_str().expect("a name").to_owned()).collect(),
            rule: text("rule"),
            source: text("source"),
            seen: text("seen"),
            date: text("date"),
            refuses: rule["refuses"].clone(),
            check,
        }
    }

    /// Returns the reason why `parameters` break the rule, or `None` if they do not.
    pub fn refusal(&self, parameters: &Value) -> Option<String> {
        let found = match &self.check {
            Check::Root(schema) => (!schema.is_valid(parameters)).then_some(parameters),
            Check::Node(schema) => find(parameters, &|one| !schema.is_valid(one)),
            Check::Function(check) => find(parameters, &|one| !check(one)),
            Check::Whole(check) => (!check(parameters)).then_some(parameters),
        };
        found.map(|found| {
            format!("{}: {} {found}\n  ({}, {})", self.hosts.join(", "), self.rule, self.source, self.date)
        })
    }
}

/// Returns the first schema in `schema` that is `wanted`, itself included.
fn find<'a>(schema: &'a Value, wanted: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    if wanted(schema) {
        return Some(schema);
    }
    let below = |one: &'a Value| find(one, wanted);
    schema.as_object()?.iter().find_map(|(word, value)| match (word.as_str(), value) {
        ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(named)) => {
            named.values().find_map(below)
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(list)) => list.iter().find_map(below),
        ("items" | "not" | "contains" | "propertyNames" | "if" | "then" | "else", one) => below(one),
        // Here, every provider accepts `true` and `false`.
        ("additionalProperties", one) if !one.is_boolean() => below(one),
        _ => None,
    })
}

fn required_names_have_properties(schema: &Value) -> bool {
    let names = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(Value::as_str).all(|name| schema["properties"].get(name).is_some())
}

fn one_description_for_a_reference(parameters: &Value) -> bool {
    let has_both = |one: &Value| {
        let target = one["$ref"].as_str().and_then(|reference| parameters.pointer(reference.strip_prefix('#')?));
        one.get("description").is_some() && target.is_some_and(|target| target.get("description").is_some())
    };
    find(parameters, &has_both).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_refuses_its_schema_and_no_ordinary_one() {
        let ordinary = serde_json::json!({
            "type": "object",
            "properties": {
                "pair": {"type": "array", "items": {"$ref": "#/$defs/Point"}, "minItems": 2, "maxItems": 2},
                "which": {"anyOf": [{"type": "string", "pattern": "^a$"}, {"type": "integer", "minimum": 1}, {"type": "null"}]},
                "more": {"type": "object", "additionalProperties": true},
            },
            "required": ["pair"],
            "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": false}},
        });
        for rule in list_rules() {
            let ListRule { rule: text, source, date, seen, .. } = rule;
            assert!(rule.refusal(&rule.refuses).is_some(), "nothing is wrong with {}: {text}", rule.refuses);
            assert_eq!(rule.refusal(&ordinary), None);
            assert!(source.starts_with("https://") && date.len() == 10, "{text}");
            assert!(["reported", "measured"].contains(&seen.as_str()), "{text}");
        }
    }

    #[test]
    fn a_member_that_is_no_schema_is_refused() {
        let broken = serde_json::json!({
            "type": "object",
            "properties": {"x": {"anyOf": [{"type": "string"}, null]}},
        });
        assert!(!refusals(&broken, &[]).is_empty());
    }
}

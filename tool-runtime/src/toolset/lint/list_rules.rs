//! The rules of providers, local servers and decoders for the schemas in a list of tools, as data: `list_rules.json`.
//!
//! Each rule has hosts, a sentence, its source with the date, and a schema that it refuses. It was reported by others, or measured
//! with the version of a decoder in the source. A rule states one check:
//!
//! - `root`: a JSON Schema of the root of the parameters.
//! - `node`: a JSON Schema of each schema in the parameters.
//! - `check`: the name of a function of this module.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use tool_schema::schema::places;

use super::{Findings, LintLevel};
use crate::schema::{CompiledSchema, Dialect};
use crate::tool::ToolSpec;
use crate::toolset::ListFormat;

static RULES: LazyLock<Vec<(ListRule, Check)>> = LazyLock::new(|| {
    let rules: Vec<ListRule> = serde_json::from_str(include_str!("list_rules.json")).unwrap_or_default();
    rules.into_iter().filter_map(|rule| Some((Check::of(&rule)?, rule))).map(|(check, rule)| (rule, check)).collect()
});

/// The hosts that receive only lists in their own dialects, if those exist.
const PROVIDERS: [&str; 6] = ["openai", "anthropic", "gemini", "gemini_gateway", "moonshot", "ollama"];

#[derive(Deserialize)]
struct ListRule {
    hosts: Vec<String>,
    rule: String,
    seen: String,
    source: String,
    date: String,
    root: Option<Value>,
    node: Option<Value>,
    check: Option<String>,
}

enum Check {
    Root(CompiledSchema),
    Node(CompiledSchema),
    /// A function of the whole parameters and one schema in them.
    Function(fn(&Value, &Value) -> bool),
}

impl Check {
    /// Returns the check of a rule, or `None` if it needs a feature that is off.
    fn of(rule: &ListRule) -> Option<Self> {
        let compile = |schema: &Value| match CompiledSchema::needs_feature(schema) {
            Some(_) => None,
            None => CompiledSchema::compile(schema).ok(),
        };
        match (&rule.root, &rule.node, rule.check.as_deref()) {
            (Some(root), ..) => compile(root).map(Self::Root),
            (_, Some(node), _) => compile(node).map(Self::Node),
            (.., Some("required_names_have_properties")) => Some(Self::Function(required_names_have_properties)),
            (.., Some("one_description_for_a_reference")) => Some(Self::Function(one_description_for_a_reference)),
            _ => None,
        }
    }

    /// Returns the place of the first schema that breaks the rule.
    fn find(&self, parameters: &Value) -> Option<String> {
        if let Self::Root(schema) = self {
            return (!schema.is_valid(parameters)).then(String::new);
        }
        let mut found = None;
        places::visit(parameters, &mut |at, one| {
            let is_kept = match self {
                Self::Root(schema) | Self::Node(schema) => schema.is_valid(one),
                Self::Function(check) => check(parameters, one),
            };
            // Every host accepts `true` and `false` for additional properties.
            let is_flag = one.is_boolean() && at.ends_with("/additionalProperties");
            if !is_kept && !is_flag && found.is_none() {
                found = Some(at.to_owned());
            }
        });
        found
    }
}

fn required_names_have_properties(_: &Value, schema: &Value) -> bool {
    let names = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(Value::as_str).all(|name| schema["properties"].get(name).is_some())
}

fn one_description_for_a_reference(parameters: &Value, schema: &Value) -> bool {
    let target = schema["$ref"].as_str().and_then(|reference| parameters.pointer(reference.strip_prefix('#')?));
    schema.get("description").is_none() || target.is_none_or(|target| target.get("description").is_none())
}

/// Reports the rules that the forms of a tool's schema break.
pub fn check_list_rules(spec: &ToolSpec, findings: &mut Findings) {
    for format in [ListFormat::OpenAi, ListFormat::Anthropic, ListFormat::Gemini] {
        let dialect = format.dialect(spec).0;
        let Ok(form) = serde_json::from_str(spec.input.lowered(dialect).json().get()) else { continue };
        for (rule, place) in broken_rules(&form, dialect) {
            let ListRule { hosts, rule, seen, source, date, .. } = rule;
            let text =
                format!("{} refuse a request with this schema: {rule} ({seen}: {source}, {date})", hosts.join(", "));
            findings.add(LintLevel::Error, &spec.name, place, text, "use another type for this parameter");
        }
    }
}

/// Returns the rules that `form` breaks, of the hosts that receive `dialect`.
fn broken_rules(form: &Value, dialect: Dialect) -> impl Iterator<Item = (&'static ListRule, String)> {
    let receives = move |host: &str| match dialect {
        Dialect::Gemini => host == "gemini",
        Dialect::OpenAiStrict => host == "openai" || !PROVIDERS.contains(&host),
        Dialect::Anthropic => host == "anthropic" || !PROVIDERS.contains(&host),
        _ => true,
    };
    RULES
        .iter()
        .filter(move |(rule, _)| rule.hosts.iter().any(|host| receives(host)))
        .filter_map(|(rule, check)| Some((rule, check.find(form)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_rule_refuses_its_schema() {
        let all: Vec<Value> = serde_json::from_str(include_str!("list_rules.json")).unwrap();
        for rule in all {
            let broken: Vec<_> =
                broken_rules(&rule["refuses"], Dialect::Portable).map(|(rule, _)| rule.rule.as_str()).collect();
            assert!(broken.contains(&rule["rule"].as_str().unwrap()), "{rule}: {broken:?}");
        }
    }

    #[test]
    fn a_rule_names_the_place() {
        let form = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer", "maximum": u64::MAX}}}});
        let broken: Vec<_> = broken_rules(&form, Dialect::OpenAiStrict).map(|(_, place)| place).collect();
        assert_eq!(broken, ["/properties/a/items"]);
        assert_eq!(broken_rules(&form, Dialect::Gemini).count(), 0);
    }
}

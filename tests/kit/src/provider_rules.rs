//! The rules of providers for the messages of a request, and checks of a request against them.
//!
//! The rules are data, with the source of each and the date of the source, or the day on which we read it:
//! `tests/data/provider_rules.json`. A rule states one check, and has a request that it refuses:
//!
//! - `list`, `message`, `block`: a JSON Schema of the list of messages, of each message, or of each part in a content.
//! - `order`: a regular expression that must not match the roles. Each message is one letter of [`roles`].
//! - `check`: the name of a function of this module.

use std::{collections::HashSet, sync::LazyLock};

use jsonschema::Validator;
use regex::Regex;
use serde_json::Value;

static RULES: LazyLock<Vec<ProviderRule>> = LazyLock::new(|| {
    let rules: Vec<Value> = serde_json::from_str(include_str!("../../data/provider_rules.json")).expect("valid JSON");
    rules.iter().map(ProviderRule::new).collect()
});

/// A rule of one or several providers.
pub struct ProviderRule {
    /// The protocol: `chat_completions` or `messages`.
    pub protocol: String,
    /// The hosts that refuse a request which breaks the rule.
    pub hosts: Vec<String>,
    /// The rule as a sentence.
    pub rule: String,
    /// The address of the source.
    pub source: String,
    /// The date of the source, or the day on which we read it.
    pub date: String,
    /// A request that breaks the rule.
    pub refuses: Value,
    checks: Vec<Check>,
}

enum Check {
    List(Validator),
    Message(Validator),
    Block(Validator),
    Order(Regex),
    Function(fn(&[Value]) -> Result<(), String>),
}

/// Returns all rules.
pub fn provider_rules() -> &'static [ProviderRule] {
    &RULES
}

/// Returns the reasons why `hosts` refuse `request`. The protocol is that of the rules to check.
pub fn violations(protocol: &str, hosts: &[&str], request: &Value) -> Vec<String> {
    let apply = |rule: &&ProviderRule| {
        rule.protocol == protocol && rule.hosts.iter().any(|host| hosts.contains(&host.as_str()))
    };
    RULES.iter().filter(apply).filter_map(|rule| rule.violation(request)).collect()
}

impl ProviderRule {
    fn new(rule: &Value) -> Self {
        let text = |name: &str| rule[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {rule}")).to_owned();
        let schema =
            |name: &str| rule.get(name).map(|schema| jsonschema::validator_for(schema).expect("a JSON Schema"));
        let order = rule.get("order").map(|_| Regex::new(&text("order")).expect("a regular expression"));
        let checks = [
            schema("list").map(Check::List),
            schema("message").map(Check::Message),
            schema("block").map(Check::Block),
            order.map(Check::Order),
            rule.get("check").map(|_| Check::Function(function(&text("check")))),
        ];
        let hosts = rule["hosts"].as_array().expect("a list of hosts").iter();
        Self {
            protocol: text("protocol"),
            hosts: hosts.map(|host| host.as_str().expect("a name").to_owned()).collect(),
            rule: text("rule"),
            source: text("source"),
            date: text("date"),
            refuses: rule["refuses"].clone(),
            checks: checks.into_iter().flatten().collect(),
        }
    }

    /// Returns the reason why `request` breaks the rule, or `None` if it does not.
    pub fn violation(&self, request: &Value) -> Option<String> {
        let messages = request["messages"].as_array().expect("a list of messages");
        let broken = |check: &Check| match check {
            Check::List(schema) => (!schema.is_valid(&request["messages"])).then(|| "the list of messages".to_owned()),
            Check::Message(schema) => {
                messages.iter().find(|message| !schema.is_valid(message)).map(ToString::to_string)
            }
            Check::Block(schema) => blocks(messages).find(|block| !schema.is_valid(block)).map(ToString::to_string),
            Check::Order(never) => {
                let roles = roles(messages);
                never.find(&roles).map(|found| format!("`{}` in `{roles}`", found.as_str()))
            }
            Check::Function(check) => check(messages).err(),
        };
        let found = self.checks.iter().find_map(broken)?;
        Some(format!("{} {found}\n  ({}, {})", self.rule, self.source, self.date))
    }
}

/// Returns the parts of each content, and those of each result.
fn blocks(messages: &[Value]) -> impl Iterator<Item = &Value> {
    let parts = messages.iter().flat_map(contents);
    parts.flat_map(|part| std::iter::once(part).chain(contents(part)))
}

fn contents(of: &Value) -> std::slice::Iter<'_, Value> {
    of["content"].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Returns a letter for each message: `s` for the system, `u` for the user, `t` for a result, `a` for the assistant. `c` is an
/// assistant with `tool_calls`, and `p` one whose last block is of a tool of the provider.
pub fn roles(messages: &[Value]) -> String {
    let letter = |message: &Value| match message["role"].as_str() {
        Some("system") => 's',
        Some("user") => 'u',
        Some("tool") => 't',
        _ if message.get("tool_calls").is_some() => 'c',
        _ => match contents(message).last().and_then(|block| block["type"].as_str()) {
            Some("text" | "tool_use") | None => 'a',
            Some(_) => 'p',
        },
    };
    messages.iter().map(letter).collect()
}

fn function(name: &str) -> fn(&[Value]) -> Result<(), String> {
    match name {
        "calls_have_results" => calls_have_results,
        "results_have_calls" => results_have_calls,
        "results_come_first" => results_come_first,
        "ids_are_unique" => ids_are_unique,
        "provider_results_have_calls" => provider_results_have_calls,
        "turns_do_not_end_with_reasoning" => turns_do_not_end_with_reasoning,
        _ => panic!("no check is called `{name}`"),
    }
}

/// Returns the ids of the calls in a message of the assistant.
fn call_ids(message: &Value) -> Vec<&str> {
    let chat = message["tool_calls"].as_array().into_iter().flatten();
    let blocks = contents(message).filter(|block| block["type"] == "tool_use");
    chat.chain(blocks).filter_map(|call| call["id"].as_str()).collect()
}

/// Returns the ids that the results in a message have.
fn result_ids(message: &Value) -> Vec<&str> {
    let blocks = contents(message).filter_map(|block| block["tool_use_id"].as_str());
    message["tool_call_id"].as_str().into_iter().chain(blocks).collect()
}

/// Returns each turn with calls: its ids, and those of the results that follow.
fn turns(messages: &[Value]) -> impl Iterator<Item = (Vec<&str>, Vec<&str>)> {
    messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant").map(|(at, message)| {
        let following = messages[at + 1..].iter().take_while(|message| !result_ids(message).is_empty());
        // In the protocol of Anthropic, one message has all results.
        let is_chat = message.get("tool_calls").is_some();
        let results = following.take(if is_chat { usize::MAX } else { 1 }).flat_map(result_ids).collect();
        (call_ids(message), results)
    })
}

fn calls_have_results(messages: &[Value]) -> Result<(), String> {
    for (calls, results) in turns(messages) {
        if let Some(call) = calls.iter().find(|call| !results.contains(call)) {
            return Err(format!("`{call}` has no result"));
        }
    }
    Ok(())
}

fn results_have_calls(messages: &[Value]) -> Result<(), String> {
    let mut answered = 0;
    for (mut calls, results) in turns(messages) {
        for result in &results {
            let call = calls.iter().position(|call| call == result);
            calls.remove(call.ok_or_else(|| format!("`{result}` answers no call"))?);
        }
        answered += results.len();
    }
    let all = messages.iter().flat_map(result_ids).count();
    if answered == all { Ok(()) } else { Err(format!("{} results answer no call", all - answered)) }
}

fn results_come_first(messages: &[Value]) -> Result<(), String> {
    let is_late = |message: &&Value| {
        let is_result = |block: &&Value| block["type"] == "tool_result";
        contents(message).skip_while(is_result).any(|block| is_result(&block))
    };
    messages.iter().find(is_late).map_or(Ok(()), |message| Err(message.to_string()))
}

fn ids_are_unique(messages: &[Value]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let again = messages.iter().flat_map(call_ids).find(|id| !ids.insert(*id));
    again.map_or(Ok(()), |id| Err(format!("two calls have the id `{id}`")))
}

fn provider_results_have_calls(messages: &[Value]) -> Result<(), String> {
    let mut calls = HashSet::new();
    for block in messages.iter().filter(|message| message["role"] == "assistant").flat_map(contents) {
        let kind = block["type"].as_str().unwrap_or_default();
        if kind.ends_with("_tool_use") {
            calls.insert(&block["id"]);
        } else if kind.ends_with("_tool_result") && !calls.contains(&block["tool_use_id"]) {
            return Err(block.to_string());
        }
    }
    Ok(())
}

fn turns_do_not_end_with_reasoning(messages: &[Value]) -> Result<(), String> {
    let last = |message: &Value| Some(contents(message).last()?["type"].as_str()?.to_owned());
    let is_broken = |message: &&Value| last(message).is_some_and(|kind| kind.ends_with("thinking"));
    messages.iter().find(is_broken).map_or(Ok(()), |message| Err(message.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_refuses_its_request() {
        for rule in provider_rules() {
            let ProviderRule { rule: text, source, date, .. } = rule;
            assert!(rule.violation(&rule.refuses).is_some(), "nothing is wrong with {}: {text}", rule.refuses);
            assert!(source.starts_with("https://") && date.len() == 10 && !rule.checks.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_legal_request_breaks_no_rule() {
        let chat = serde_json::json!({ "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hi." },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "abcdefghi", "type": "function", "function": { "name": "f", "arguments": "{}" } } ] },
            { "role": "tool", "tool_call_id": "abcdefghi", "content": "done" },
            { "role": "assistant", "content": "Done." },
            { "role": "user", "content": "And now?" },
        ] });
        let blocks = serde_json::json!({ "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Hi." }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "x" }], "is_error": true },
                { "type": "text", "text": "And now?" } ] },
        ] });
        for rule in provider_rules() {
            let legal = if rule.protocol == "messages" { &blocks } else { &chat };
            assert_eq!(rule.violation(legal), None);
        }
    }
}

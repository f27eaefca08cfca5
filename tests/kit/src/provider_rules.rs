//! The rules of providers for the messages of a request, and checks of a request against them.
//!
//! The rules are data, with the source of each and the date of the source, or the day on which we read it:
//! `tests/data/provider_rules.json`. A rule states one check, and has a request that it refuses:
//!
//! - `request`, `list`, `message`, `block`: a JSON Schema of the request, of the list of messages, of each message, or of each part in
//!   a content.
//! - `order`: a regular expression that must not match the roles. Each message is one letter of [`roles`].
//! - `check`: the name of a function of this module.
//!
//! A message is what a protocol's list consists of: a message, an item, a step or a content.

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
    /// The protocol: `chat_completions`, `messages`, `responses`, `interactions` or `generate_content`.
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
    Request(Validator),
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
            schema("request").map(Check::Request),
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
        let list = match self.protocol.as_str() {
            "responses" | "interactions" => &request["input"],
            "generate_content" => &request["contents"],
            _ => &request["messages"],
        };
        let messages = list.as_array().expect("a list of messages");
        let broken = |check: &Check| match check {
            Check::Request(schema) => schema.iter_errors(request).next().map(|error| error.to_string()),
            Check::List(schema) => (!schema.is_valid(list)).then(|| "the list of messages".to_owned()),
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
    parts.flat_map(|part| [part].into_iter().chain(contents(part)).chain(contents(&part["functionResponse"])))
}

/// Returns the parts of a message or of a result, whatever its protocol calls them.
fn contents(of: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    let members = ["content", "parts", "output", "result", "summary"];
    members.into_iter().filter_map(|member| of[member].as_array()).flatten()
}

/// Returns a letter for each message: `s` for the system, `u` for the user, `t` for results, `a` for the assistant, `c` for a call or
/// an assistant with calls, `r` for reasoning, and `p` for a part of a tool of the provider. In Anthropic's protocol, `u` may have
/// results, `a` may have calls, and `p` is an assistant whose last block is of such a tool.
pub fn roles(messages: &[Value]) -> String {
    let has = |message: &Value, member| contents(message).any(|part| part.get(member).is_some());
    let letter = |message: &Value| match (message["type"].as_str(), message["role"].as_str()) {
        (Some("reasoning" | "thought"), _) => 'r',
        (Some("function_call"), _) => 'c',
        (Some("function_call_output" | "function_result"), _) | (_, Some("tool")) => 't',
        (Some("model_output"), _) => 'a',
        (_, Some("system")) => 's',
        (_, Some("user")) if has(message, "functionResponse") => 't',
        (Some("user_input"), _) | (_, Some("user")) => 'u',
        (_, Some(_)) if message.get("tool_calls").is_some() || has(message, "functionCall") => 'c',
        (_, Some("model")) => 'a',
        (_, Some(_)) => match contents(message).next_back().and_then(|block| block["type"].as_str()) {
            Some("text" | "output_text" | "refusal" | "tool_use") | None => 'a',
            Some(_) => 'p',
        },
        (_, None) => 'p',
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
        "calls_have_outputs" => calls_have_outputs,
        "outputs_have_calls" => outputs_have_calls,
        "item_ids_are_unique" => item_ids_are_unique,
        "arguments_are_json" => arguments_are_json,
        "responses_match_calls" => responses_match_calls,
        "responses_are_alone" => responses_are_alone,
        "first_calls_are_signed" => first_calls_are_signed,
        "later_calls_are_unsigned" => later_calls_are_unsigned,
        _ => panic!("no check is called `{name}`"),
    }
}

/// Returns the ids of the calls in a message of the assistant, or of an item that is a call.
fn call_ids(message: &Value) -> Vec<&str> {
    let chat = message["tool_calls"].as_array().into_iter().flatten();
    let blocks = contents(message).filter(|block| block["type"] == "tool_use");
    let item = Some(message).filter(|item| item["type"] == "function_call");
    let ids = chat.chain(blocks).chain(item).map(|call| call.get("call_id").unwrap_or(&call["id"]));
    ids.filter_map(Value::as_str).collect()
}

/// Returns the ids that the results in a message have, or that of an item that is a result.
fn result_ids(message: &Value) -> Vec<&str> {
    let blocks = contents(message).filter_map(|block| block["tool_use_id"].as_str());
    let item = Some(message).filter(|item| item["type"] == "function_call_output" || item["type"] == "function_result");
    let item = item.and_then(|item| item["call_id"].as_str());
    message["tool_call_id"].as_str().into_iter().chain(item).chain(blocks).collect()
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
    let blocks = messages.iter().filter(|message| message["role"] == "assistant").flat_map(contents);
    let steps = messages.iter().filter(|step| step.get("role").is_none());
    for block in blocks.chain(steps) {
        match block["type"].as_str().unwrap_or_default() {
            "function_call" | "function_result" => {}
            kind if kind.ends_with("_tool_use") || kind.ends_with("_call") => {
                calls.insert(&block["id"]);
            }
            kind if kind.ends_with("_tool_result") && !calls.contains(&block["tool_use_id"]) => {
                return Err(block.to_string());
            }
            kind if kind.ends_with("_result") && block.get("call_id").is_some_and(|id| !calls.contains(id)) => {
                return Err(block.to_string());
            }
            _ => {}
        }
    }
    Ok(())
}

fn turns_do_not_end_with_reasoning(messages: &[Value]) -> Result<(), String> {
    let last = |message: &Value| Some(contents(message).next_back()?["type"].as_str()?.to_owned());
    let is_broken = |message: &&Value| last(message).is_some_and(|kind| kind.ends_with("thinking"));
    messages.iter().find(is_broken).map_or(Ok(()), |message| Err(message.to_string()))
}

/// Returns the ids of the calls that are not answered at the end, or the id of an output that answers no open call.
fn pair_outputs(messages: &[Value]) -> Result<Vec<&str>, &str> {
    let mut open = Vec::new();
    for message in messages {
        open.extend(call_ids(message));
        for output in result_ids(message) {
            let call = open.iter().position(|call| *call == output);
            open.remove(call.ok_or(output)?);
        }
    }
    Ok(open)
}

fn calls_have_outputs(messages: &[Value]) -> Result<(), String> {
    match pair_outputs(messages) {
        Ok(open) if !open.is_empty() => Err(format!("{open:?} have no output")),
        _ => Ok(()),
    }
}

fn outputs_have_calls(messages: &[Value]) -> Result<(), String> {
    pair_outputs(messages).map(drop).map_err(|output| format!("`{output}` answers no call before it"))
}

fn item_ids_are_unique(messages: &[Value]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let again = messages.iter().filter_map(|item| item["id"].as_str()).find(|id| !ids.insert(*id));
    again.map_or(Ok(()), |id| Err(format!("two items have the id `{id}`")))
}

fn arguments_are_json(messages: &[Value]) -> Result<(), String> {
    let is_json = |text: &Value| text.as_str().is_some_and(|text| serde_json::from_str::<Value>(text).is_ok());
    let calls = messages.iter().filter(|item| item["type"] == "function_call");
    let broken = calls.into_iter().find(|call| !is_json(&call["arguments"]));
    broken.map_or(Ok(()), |call| Err(call.to_string()))
}

/// Returns the calls, or the responses, in a content of `generateContent`.
fn functions<'a>(content: &'a Value, member: &'a str) -> impl Iterator<Item = &'a Value> {
    contents(content).filter_map(move |part| part.get(member))
}

/// Checks that each content with calls is directly before one with their responses, and no other content has responses.
fn responses_match_calls(messages: &[Value]) -> Result<(), String> {
    let names = |content: Option<&Value>, member| -> Vec<String> {
        let functions = content.into_iter().flat_map(|content| functions(content, member));
        functions.map(|function| format!("{} {}", function["name"], function["id"])).collect()
    };
    let before = std::iter::once(None).chain(messages.iter().map(Some));
    let after = messages.iter().map(Some).chain([None]);
    for (content, next) in before.zip(after) {
        let (calls, responses) = (names(content, "functionCall"), names(next, "functionResponse"));
        if calls != responses {
            return Err(format!("the calls are {calls:?}, and the responses that follow are {responses:?}"));
        }
    }
    Ok(())
}

fn responses_are_alone(messages: &[Value]) -> Result<(), String> {
    let is_broken = |content: &&Value| {
        let responses = functions(content, "functionResponse").count();
        responses > 0 && responses < contents(content).count()
    };
    messages.iter().find(is_broken).map_or(Ok(()), |content| Err(content.to_string()))
}

/// Returns the parts with calls of each content.
fn call_parts(messages: &[Value]) -> impl Iterator<Item = Vec<&Value>> {
    messages.iter().map(|content| contents(content).filter(|part| part.get("functionCall").is_some()).collect())
}

fn first_calls_are_signed(messages: &[Value]) -> Result<(), String> {
    let is_signed = |part: &Value| part["thoughtSignature"].as_str().is_some_and(|signature| !signature.is_empty());
    let mut firsts = call_parts(messages).filter_map(|calls| calls.first().copied());
    firsts.find(|part| !is_signed(part)).map_or(Ok(()), |part| Err(part.to_string()))
}

fn later_calls_are_unsigned(messages: &[Value]) -> Result<(), String> {
    let mut later = call_parts(messages).flat_map(|calls| calls.into_iter().skip(1));
    let signed = later.find(|part| part["thoughtSignature"] == "skip_thought_signature_validator");
    signed.map_or(Ok(()), |part| Err(part.to_string()))
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
        let responses = serde_json::json!({ "store": false, "input": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "input_text", "text": "Hi." },
                { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
                { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA" }] },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAResponsesOpenai" },
            { "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": [{ "type": "input_text", "text": "x" }] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] },
            { "role": "user", "content": "And now?" },
        ], "tools": [{ "type": "function", "name": "f", "parameters": {}, "strict": false }] });
        let interactions = serde_json::json!({ "store": false, "input": [
            { "type": "user_input", "content": [{ "type": "text", "text": "Hi." },
                { "type": "document", "mime_type": "application/pdf", "data": "AAAA" }] },
            { "type": "thought", "signature": "CiQInteractionsGoogle" },
            { "type": "function_call", "id": "a", "name": "f", "arguments": {} },
            { "type": "function_call", "id": "b", "name": "f", "arguments": {} },
            { "type": "function_result", "call_id": "b", "name": "f", "result": [{ "type": "text", "text": "x" }], "is_error": true },
            { "type": "function_result", "call_id": "a", "name": "f", "result": "x" },
            { "type": "google_search_call", "id": "s", "arguments": {} },
            { "type": "google_search_result", "call_id": "s", "result": [{}] },
            { "type": "model_output", "content": [{ "type": "text", "text": "Done." }] },
            { "type": "user_input", "content": [{ "type": "text", "text": "And now?" }] },
        ] });
        let generate_content = serde_json::json!({ "contents": [
            { "role": "user", "parts": [{ "text": "Hi." }, { "fileData": { "fileUri": "https://a/b.pdf" } }] },
            { "role": "model", "parts": [{ "text": "Hm.", "thought": true },
                { "functionCall": { "name": "f", "args": {} }, "thoughtSignature": "CiQGenerateContentGoogle" },
                { "functionCall": { "name": "f", "args": {}, "id": "b" } }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "f", "response": { "output": "x" },
                    "parts": [{ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }] } },
                { "functionResponse": { "name": "f", "id": "b", "response": { "error": "x" } } }] },
            { "role": "model", "parts": [{ "text": "Done." }, { "text": "", "thoughtSignature": "CiQGenerateContentGoogle" }] },
            { "role": "user", "parts": [{ "text": "And now?" }] },
        ] });
        for rule in provider_rules() {
            let legal = match rule.protocol.as_str() {
                "chat_completions" => &chat,
                "messages" => &blocks,
                "responses" => &responses,
                "interactions" => &interactions,
                "generate_content" => &generate_content,
                other => panic!("no protocol is called `{other}`"),
            };
            assert_eq!(rule.violation(legal), None);
        }
    }
}

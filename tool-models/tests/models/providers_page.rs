//! Tests that the table in `docs/providers.md` is made from the rules. `scripts/bless providers` writes it.

use std::{env, fs, path::Path};

use tool_test_kit::{
    list_rules::list_rules,
    provider_rules::provider_rules,
    stream_rules::{StreamRule, stream_rules},
    streams::WireFormat,
};

const HEAD: &str =
    "| of | provider or server | what it does | here | seen | source | test |\n|---|---|---|---|---|---|---|\n";

/// A line of the table.
struct Line<'a> {
    of: String,
    hosts: Vec<&'a str>,
    does: String,
    here: &'a str,
    seen: &'a str,
    source: &'a str,
    date: &'a str,
    test: &'a str,
}

fn lines() -> Vec<Line<'static>> {
    let streams = stream_rules().iter().map(|rule| {
        let StreamRule { hosts, does, then, seen, source, date, stream } = rule;
        Line {
            of: format!("streams, {}", name_of(stream.format)),
            hosts: hosts.iter().map(String::as_str).collect(),
            does: does.clone(),
            here: then,
            seen,
            source,
            date,
            test: "[streams](../tool-models/tests/models/stream_rules.rs)",
        }
    });
    let messages = provider_rules().iter().map(|rule| Line {
        of: format!("messages, {}", rule.protocol.replace("generate_content", "`generateContent`").replace('_', " ")),
        hosts: rule.hosts.iter().map(|host| name_of_host(host)).collect(),
        does: format!("It refuses a request that breaks this rule: {}", rule.rule),
        here: "Each request follows the rule.",
        seen: "reported",
        source: &rule.source,
        date: &rule.date,
        test: "[messages](../tool-models/src/provider_rules.rs)",
    });
    let lists = list_rules().iter().map(|rule| Line {
        of: "tools".to_owned(),
        hosts: rule.hosts.iter().map(|host| name_of_host(host)).collect(),
        does: format!("It refuses or changes a schema that breaks this rule: {}", rule.rule),
        here: "The portable form follows the rule, and the linter reports it.",
        seen: &rule.seen,
        source: &rule.source,
        date: &rule.date,
        test: "[lists](../tests/declare/portable.rs)",
    });
    streams.chain(messages).chain(lists).collect()
}

fn name_of(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Chat => "chat completions",
        WireFormat::Anthropic => "messages",
        WireFormat::Responses => "responses",
        WireFormat::Interactions => "interactions",
        WireFormat::GenerateContent => "`generateContent`",
    }
}

fn name_of_host(host: &str) -> &str {
    match host {
        "openai" => "OpenAI",
        "anthropic" => "Anthropic",
        "gemini" => "Gemini",
        "gemini_gateway" => "Gemini behind a gateway",
        "gateways" => "gateways to Anthropic",
        "deepseek" => "DeepSeek",
        "mistral" => "Mistral",
        "moonshot" => "Moonshot",
        "ollama" => "Ollama",
        "perplexity" => "Perplexity",
        "templates" => "chat templates",
        "mcp clients" => "MCP clients",
        other => other,
    }
}

/// Returns a short name of an address: `owner/repository #7`, or the host.
fn name_of_source(url: &str) -> String {
    let path = url.strip_prefix("https://").unwrap_or(url);
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["github.com", owner, repository, "issues" | "pull", number] => format!("{owner}/{repository} #{number}"),
        ["github.com", owner, repository, ..] => format!("{owner}/{repository}"),
        _ => parts[0].to_owned(),
    }
}

fn table() -> String {
    let escape = |text: &str| text.replace('|', "\\|");
    let line = |line: &Line<'_>| {
        let Line { of, hosts, does, here, seen, source, date, test } = line;
        let (hosts, does, here) = (escape(&hosts.join(", ")), escape(does), escape(here));
        format!(
            "| {of} | {hosts} | {does} | {here} | {seen} | [{}]({source}), {date} | {test} |\n",
            name_of_source(source)
        )
    };
    HEAD.to_owned() + &lines().iter().map(line).collect::<String>()
}

#[test]
fn the_table_is_that_of_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/providers.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("| of |").expect("the page has a table");
    let after: String = rest.split_inclusive('\n').skip_while(|line| line.contains('|')).collect();
    let expected = format!("{before}{}{after}", table());
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == expected,
        "the table differs from the rules: run `scripts/bless providers`"
    );
}

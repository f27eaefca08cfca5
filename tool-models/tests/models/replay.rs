//! Tests with streams of real providers that vercel/ai (Apache-2.0) and pydantic-ai (MIT) recorded. The repository lacks them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tool_runtime::{
    message::{AssistantPart, ProviderPart, ProviderPartKind},
    model::{FinishReason, ModelErrorKind},
};

use super::{Format, turn};

pub(super) fn recordings(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/streams").join(folder);
    assert!(root.exists(), "{} is not there", root.display());
    root
}

/// Decodes `events` with one event per chunk, and then with one byte per chunk, and checks the result. Returns the number of
/// blocks of tools that the provider executes.
fn check(name: &str, format: Format, events: &[String]) -> usize {
    let whole = format.decode(events.iter().map(String::as_bytes));
    let sse = events.concat();
    let cut = format.decode(sse.as_bytes().chunks(1));
    let expected = match name {
        "spliced-message-start.chunks.txt" => Some(ModelErrorKind::Protocol),
        name if name.contains("tool_use_failed_error") && sse.contains("\"error\":") => Some(ModelErrorKind::Refused),
        _ => None,
    };
    if let Some(kind) = expected {
        assert_eq!(whole.unwrap_err().kind(), kind, "{name}");
        assert_eq!(cut.unwrap_err().kind(), kind, "{name}, cut");
        return 0;
    }
    let whole = whole.unwrap_or_else(|error| panic!("{name}: {error}: {:?}", std::error::Error::source(&error)));
    assert_eq!(cut.unwrap(), whole, "{name}, cut");
    let turn = turn(whole);
    let reason = turn.finish.clone().unwrap_or_else(|| panic!("{name} has not finished"));
    assert!(
        reason.allows_calls()
            || [FinishReason::Length, FinishReason::ContentFilter].contains(&reason)
            || reason == FinishReason::Paused,
        "{name}: {reason:?}"
    );
    let silent = name.contains("anthropic-refusal");
    assert_eq!(turn.content.is_empty(), silent, "{name}");
    assert_eq!(reason == FinishReason::ToolCalls, turn.calls().count() > 0, "{name}: {reason:?}");
    let mut ids: Vec<&str> = turn.calls().map(|call| call.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{name}: an id stands for two calls");
    for call in turn.calls() {
        assert!(!call.name.is_empty(), "{name}");
        let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
        assert!(serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()), "{name}: {arguments}");
    }
    let provided: Vec<&ProviderPart> = turn.content.iter().filter_map(provider_part).collect();
    for (at, part) in provided.iter().enumerate() {
        assert!(!part.name.is_empty() && !part.call_id.is_empty(), "{name}: {part:?}");
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(block["type"].is_string(), "{name}: {block}");
        if part.kind == ProviderPartKind::Call {
            assert!(block["input"].is_object(), "{name}: {block}");
        } else {
            // A result has the name of its call.
            let called = |call: &&&ProviderPart| call.call_id == part.call_id && call.kind == ProviderPartKind::Call;
            let call = provided[..at].iter().find(called).unwrap_or_else(|| panic!("{name}: {part:?} without a call"));
            assert_eq!(call.name, part.name, "{name}");
        }
        assert!(!turn.calls().any(|call| call.id == part.call_id), "{name}: it is no call of ours");
    }
    provided.len()
}

fn provider_part(part: &AssistantPart) -> Option<&ProviderPart> {
    match part {
        AssistantPart::Provider(part) => Some(part),
        _ => None,
    }
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn recorded_by_vercel() {
    let root = recordings("vercel-ai");
    let (mut seen, mut provided) = ([0, 0], 0);
    for folder in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let lines = || text.lines().filter(|line| !line.trim().is_empty());
            let Ok(first) = serde_json::from_str::<Value>(lines().next().unwrap_or_default()) else { continue };
            let format = if first["type"] == "message_start" {
                Format::Anthropic
            } else if first.get("choices").is_some() && first["object"] != "text_completion" {
                Format::Chat
            } else {
                continue;
            };
            seen[usize::from(format == Format::Chat)] += 1;
            let name = file.file_name().into_string().unwrap();
            let mut events: Vec<String> = lines().map(|line| format!("data: {line}\n\n")).collect();
            provided += check(&name, format, &events);
            if format == Format::Chat {
                events.push("data: [DONE]\r\n\r\n".to_owned());
                check(&name, format, &events);
            }
        }
    }
    assert!(seen[0] >= 30 && seen[1] >= 20, "{seen:?} recordings were found");
    assert!(provided >= 70, "{provided} calls and results of providers were found");
}

/// Returns the event streams in a cassette, with their formats. It reads only block scalars of YAML, which nearly all are.
fn streams(cassette: &str) -> Vec<(Format, String)> {
    let mut found = Vec::new();
    let mut format = None;
    let mut lines = cassette.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(uri) = line.strip_prefix("    uri: ") {
            format = match uri {
                uri if uri.contains("/chat/completions") => Some(Format::Chat),
                uri if uri.contains("api.anthropic.com/v1/messages") => Some(Format::Anthropic),
                _ => None,
            };
        }
        if line.starts_with("      string: |") {
            let mut text = String::new();
            while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with("        ")) {
                text.push_str(line.get(8..).unwrap_or_default());
                text.push('\n');
            }
            text.push('\n');
            if let (Some(format), true) = (format, text.contains("data: {")) {
                found.push((format, text));
            }
        }
    }
    found
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn recorded_by_pydantic() {
    let root = recordings("pydantic-ai-cassettes");
    let mut seen = [0, 0];
    for file in fs::read_dir(root).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        for (format, sse) in streams(&fs::read_to_string(file.path()).unwrap()) {
            seen[usize::from(format == Format::Chat)] += 1;
            let events: Vec<String> = sse.split_inclusive("\n\n").map(str::to_owned).collect();
            check(&name, format, &events);
        }
    }
    assert!(seen[0] >= 10 && seen[1] >= 30, "{seen:?} recordings were found");
}

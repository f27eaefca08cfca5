//! Dialogues as a person has them, written as they run.
//!
//! A script is a transcript: `> ` is what the person says, `< ` the result of the call before it, `<! ` a failure of
//! it; every other line is what the model answers, a call as `! name arguments`. Running it must give the same text
//! again.

mod dialogues;
mod dynamic;
mod feedback;
mod first;
mod negotiation;
mod nested;
mod never;
mod single;
mod turns;

use std::sync::Arc;

use serde_json::Value;

use super::fold::{self, Reply};
use tool_runtime::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use tool_runtime::model::Request;
use tool_runtime::schema::Schema;
use tool_runtime::tool::ToolSpec;
use tool_runtime::toolset::ToolList;

/// A tool with a schema of arguments.
fn tool(name: &str, description: &str, input: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name, description, Schema::new(input)))
}

/// Returns what the model does next.
fn reply(tools: &ToolList, messages: &[Message]) -> Reply {
    fold::reply(Request::new(messages, tools)).expect("no tool is forced")
}

/// The reply as a message.
fn assistant(reply: &Reply) -> Message {
    match reply {
        Reply::Say(text) => Message::assistant(text),
        Reply::Call(call) => Message::Assistant { content: vec![AssistantPart::Call(call.clone())] },
    }
}

/// The answer to a call.
fn answer(call: &ToolCall, text: &str, is_error: bool) -> Message {
    let content = match serde_json::from_str::<Value>(text) {
        Ok(_) => vec![Part::Json { json: text.to_owned() }],
        Err(_) => vec![Part::text(text)],
    };
    Message::Tool(ToolMessage { call_id: call.id.clone(), tool: call.name.clone(), content, is_error })
}

/// Runs what a script says, and gives the whole transcript.
fn run(tools: &ToolList, script: &str) -> String {
    let (mut messages, mut out, mut call) = (Vec::new(), Vec::new(), None);
    for line in script.lines() {
        let line = line.trim_start();
        if let Some(said) = line.strip_prefix("> ") {
            messages.push(Message::user(said.replace("\\n", "\n")));
        } else if let Some(call) = call.take_if(|_| line.starts_with('<')) {
            let error = line.starts_with("<!");
            messages.push(answer(&call, line.trim_start_matches(['<', '!']).trim(), error));
        } else {
            continue;
        }
        out.push(line.to_owned());
        let reply = reply(tools, &messages);
        messages.push(assistant(&reply));
        match reply {
            Reply::Say(text) => out.extend(text.lines().map(|line| line.trim().to_owned())),
            Reply::Call(made) => {
                out.push(format!("! {} {}", made.name, made.arguments));
                call = Some(made);
            }
        }
    }
    out.join("\n")
}

/// Runs a script, which must come out as it is written.
#[track_caller]
fn check(tools: &ToolList, script: &str) {
    let written: Vec<&str> = script.trim().lines().map(str::trim).collect();
    let written = written.join("\n");
    let run = run(tools, &written);
    assert!(run == written, "\n--- it runs as\n{run}\n--- it is written as\n{written}\n");
}

//! Dialogues, written as transcripts.
//!
//! In a script, `> ` begins the person's text, `< ` the result of the previous call, and `<! ` its failure. All other lines are
//! the model's replies, where `! name arguments` is a call. The model must reproduce its lines.

mod dialogues;
mod dynamic;
mod first_sentence;
mod properties;
mod random_persons;
mod turns;

use std::sync::Arc;

use serde_json::Value;

use super::Reply;
use tool_runtime::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use tool_runtime::model::Request;
use tool_runtime::schema::Schema;
use tool_runtime::tool::ToolSpec;
use tool_runtime::toolset::ToolList;

fn tool(name: &str, description: &str, input: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name, description, Schema::new(input)))
}

/// Returns the model's next reply.
fn reply(tools: &ToolList, messages: &[Message]) -> Reply {
    super::reply(Request::new(messages, tools)).expect("no tool is forced")
}

fn assistant(reply: &Reply) -> Message {
    match reply {
        Reply::Say(text) => Message::assistant(text),
        Reply::Call(call) => Message::Assistant { content: vec![AssistantPart::Call(call.clone())] },
    }
}

fn tool_result(call: &ToolCall, text: &str, is_error: bool) -> Message {
    let content = match serde_json::from_str::<Value>(text) {
        Ok(_) => vec![Part::Json { json: text.to_owned() }],
        Err(_) => vec![Part::text(text)],
    };
    Message::Tool(ToolMessage { call_id: call.id.clone(), tool: call.name.clone(), content, is_error })
}

/// Runs a script, and asserts that the model reproduces its lines.
#[track_caller]
fn check(tools: &ToolList, script: &str) {
    check_with(tools, script, None);
}

/// Runs a script, in which `respond`, if given, returns the results of the calls.
#[track_caller]
fn check_with(tools: &ToolList, script: &str, respond: Option<&dyn Fn(&ToolCall) -> Message>) {
    let written: Vec<&str> = script.trim().lines().map(str::trim).collect();
    let (mut messages, mut out, mut waiting) = (Vec::new(), Vec::new(), None);
    for &line in &written {
        if let Some(text) = line.strip_prefix("> ") {
            messages.push(Message::user(text.replace("\\n", "\n")));
        } else if let Some(call) = waiting.take_if(|_| line.starts_with('<')) {
            messages.push(tool_result(&call, line.trim_start_matches(['<', '!']).trim(), line.starts_with("<!")));
        } else {
            continue;
        }
        out.push(line.to_owned());
        loop {
            let reply = reply(tools, &messages);
            messages.push(assistant(&reply));
            match reply {
                Reply::Say(text) => break out.extend(text.lines().map(|line| line.trim().to_owned())),
                Reply::Call(made) => {
                    out.push(format!("! {} {}", made.name, made.arguments));
                    match respond {
                        Some(respond) => messages.push(respond(&made)),
                        None => break waiting = Some(made),
                    }
                }
            }
        }
    }
    let (run, written) = (out.join("\n"), written.join("\n"));
    assert!(run == written, "\n--- the dialogue ran as\n{run}\n--- the script is\n{written}\n");
}

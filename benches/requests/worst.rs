//! The most expensive requests of every kind, in any size.

use serde_json::{Value, json};

/// Where a request goes, and what is there before it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The AI SDK's chat, which the server does not know.
    Chat,
    /// The same, in a chat with as many prompts as the request has messages.
    KnownChat,
    /// Steering.
    Steer,
    /// AG-UI, in a thread that the server does not know.
    AgUi,
    /// The same, in a thread with as many prompts as the request has messages; a call waits for an approval.
    KnownAgUi,
    /// A call of a tool over MCP.
    Mcp,
}

/// A kind of request.
pub(crate) struct Worst {
    pub(crate) name: &'static str,
    pub(crate) route: Route,
    /// An item of so many.
    item: fn(usize) -> String,
    /// A body with these items.
    body: fn(&[String]) -> String,
}

impl Worst {
    /// A body of about so many bytes, and how many items it has.
    pub(crate) fn body(&self, bytes: usize) -> (String, usize) {
        let (mut items, mut length) = (Vec::new(), 0);
        while length < bytes {
            let item = (self.item)(items.len());
            length += item.len() + 1;
            items.push(item);
        }
        ((self.body)(&items), items.len())
    }
}

/// The last message of the user, in either protocol.
fn last(protocol: &str) -> Value {
    match protocol {
        "chat" => json!({ "id": "last", "role": "user", "parts": [{ "type": "text", "text": "Hi" }] }),
        _ => json!({ "id": "last", "role": "user", "content": "Hi" }),
    }
}

fn chat(items: &[String]) -> String {
    format!(r#"{{"id":"chat","messages":[{},{}]}}"#, items.join(","), last("chat"))
}

/// One message of the assistant with these parts.
fn chat_parts(items: &[String]) -> String {
    chat(&[format!(r#"{{"id":"a","role":"assistant","parts":[{}]}}"#, items.join(","))])
}

fn agent(items: &[String]) -> String {
    format!(r#"{{"threadId":"chat","runId":"r","messages":[{},{}]}}"#, items.join(","), last("agent"))
}

/// The same with nothing of the user's behind the items.
fn agent_only(items: &[String]) -> String {
    format!(r#"{{"threadId":"chat","runId":"r","messages":[{}]}}"#, items.join(","))
}

/// One message of the assistant with these calls.
fn agent_calls(items: &[String]) -> String {
    agent(&[turn(items)])
}

/// A message of the assistant with these calls.
fn turn(calls: &[String]) -> String {
    format!(r#"{{"id":"a","role":"assistant","toolCalls":[{}]}}"#, calls.join(","))
}

/// A message of the user with these parts.
fn agent_parts(items: &[String]) -> String {
    agent(&[format!(r#"{{"id":"u","role":"user","content":[{}]}}"#, items.join(","))])
}

fn agent_with(name: &str, items: &[String]) -> String {
    format!(r#"{{"threadId":"chat","runId":"r","messages":[{}],"{name}":[{}]}}"#, last("agent"), items.join(","))
}

fn mcp(arguments: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"note","arguments":{arguments}}}}}"#)
}

/// JSON of many levels, and few enough to be read.
fn nested() -> String {
    ["[", "]"].map(|bracket| bracket.repeat(100)).concat()
}

fn call(id: usize) -> String {
    format!(r#"{{"id":"c{id}","type":"function","function":{{"name":"note","arguments":"{{}}"}}}}"#)
}

fn result(id: usize) -> String {
    format!(r#"{{"id":"r{id}","role":"tool","toolCallId":"c{id}","content":"x"}}"#)
}

const fn worst(name: &'static str, route: Route, item: fn(usize) -> String, body: fn(&[String]) -> String) -> Worst {
    Worst { name, route, item, body }
}

/// All kinds.
pub(crate) const ALL: &[Worst] = &[
    worst("chat/tiny", Route::Chat, |_| r#"{"role":"user"}"#.to_owned(), chat),
    worst("chat/one-id", Route::KnownChat, |_| said("same"), chat),
    worst("chat/known-ids", Route::KnownChat, |at| said(&format!("m{at}")), chat),
    worst("chat/new-ids", Route::KnownChat, |at| said(&format!("new{at}")), chat),
    worst("chat/texts", Route::Chat, |_| r#"{"type":"text","text":"x"}"#.to_owned(), chat_parts),
    worst("chat/outputs", Route::KnownChat, output, chat_parts),
    worst("chat/outputs-of-one", Route::KnownChat, |_| output(0), chat_parts),
    worst("chat/approvals", Route::KnownChat, approval, chat_parts),
    worst("chat/deep", Route::Chat, |at| output(at).replace("\"x\"", &nested()), chat_parts),
    worst(
        "chat/too-deep",
        Route::Chat,
        |_| "[".repeat(32),
        |items| {
            let open = items.concat();
            chat(&[format!("{open}{}", "]".repeat(open.len()))])
        },
    ),
    worst(
        "chat/escapes",
        Route::Chat,
        |_| r#"\ud83d\n\u00e9\""#.to_owned(),
        |text| chat_parts(&[format!(r#"{{"type":"text","text":"{}"}}"#, text.concat())]),
    ),
    worst(
        "chat/text",
        Route::Chat,
        |_| "Lorem ipsum dolor sit amet.".to_owned(),
        |text| chat_parts(&[format!(r#"{{"type":"text","text":"{}"}}"#, text.concat())]),
    ),
    worst(
        "chat/decisions",
        Route::KnownChat,
        |at| format!(r#""c{at}.1":{{"decision":"approve"}}"#),
        |items| format!(r#"{{"id":"chat","messages":[{}],"decisions":{{{}}}}}"#, last("chat"), items.join(",")),
    ),
    worst(
        "steer/texts",
        Route::Steer,
        |_| r#"{"type":"text","text":"x"}"#.to_owned(),
        |items| format!(r#"{{"message":{{"id":"s","role":"user","parts":[{}]}}}}"#, items.join(",")),
    ),
    worst("agent/tiny", Route::AgUi, |_| r#"{"id":"","role":"user","content":""}"#.to_owned(), agent),
    worst("agent/one-id", Route::KnownAgUi, |_| heard("same"), agent),
    worst("agent/known-ids", Route::KnownAgUi, |at| heard(&format!("m{at}")), agent),
    worst("agent/new-ids", Route::KnownAgUi, |at| heard(&format!("new{at}")), agent),
    worst("agent/calls", Route::AgUi, call, agent_calls),
    worst("agent/calls-of-one-id", Route::AgUi, |_| call(0), agent_calls),
    worst("agent/calls-and-results", Route::AgUi, |at| format!("{},{}", asked(at), result(at)), agent),
    worst("agent/results-of-one", Route::AgUi, |at| format!("{},{}", asked(at), result(0)), agent),
    worst(
        "agent/turn",
        Route::AgUi,
        |at| format!("{}|{}", call(at), result(at)),
        |items| {
            let (calls, mut results): (Vec<_>, Vec<_>) = items.iter().filter_map(|item| item.split_once('|')).unzip();
            results.reverse();
            let calls: Vec<_> = calls.into_iter().map(str::to_owned).collect();
            agent(&[turn(&calls), results.join(",")])
        },
    ),
    worst("agent/strays", Route::KnownAgUi, result, agent_only),
    worst("agent/parts", Route::AgUi, |_| r#"{"type":"text","text":"x"}"#.to_owned(), agent_parts),
    worst(
        "agent/deep",
        Route::AgUi,
        |_| format!(r#"{{"type":"text","text":"x","metadata":{}}}"#, nested()),
        agent_parts,
    ),
    worst(
        "agent/escapes",
        Route::AgUi,
        |_| r#"\ud83d\n\u00e9\""#.to_owned(),
        |text| agent(&[format!(r#"{{"id":"u","role":"user","content":"{}"}}"#, text.concat())]),
    ),
    worst("agent/resume", Route::KnownAgUi, |at| entry(&format!("c{at}.1")), |items| agent_with("resume", items)),
    worst("agent/resume-of-one", Route::KnownAgUi, |_| entry("c"), |items| agent_with("resume", items)),
    worst(
        "agent/context",
        Route::AgUi,
        |_| r#"{"description":"x","value":"y"}"#.to_owned(),
        |items| agent_with("context", items),
    ),
    worst(
        "agent/tool",
        Route::AgUi,
        |at| format!(r#""p{at}":{{"type":"string"}}"#),
        |items| {
            let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, items.join(","));
            agent_with("tools", &[format!(r#"{{"name":"t","description":"d","parameters":{schema}}}"#)])
        },
    ),
    worst(
        "mcp/texts",
        Route::Mcp,
        |_| r#""x""#.to_owned(),
        |items| mcp(&format!(r#"{{"lines":[{}]}}"#, items.join(","))),
    ),
    worst("mcp/wrong", Route::Mcp, |_| "7".to_owned(), |items| mcp(&format!(r#"{{"lines":[{}]}}"#, items.join(",")))),
    worst("mcp/unknown", Route::Mcp, |at| format!(r#""line{at}":1"#), |items| mcp(&format!("{{{}}}", items.join(",")))),
    worst(
        "mcp/escapes",
        Route::Mcp,
        |_| r#"\ud83d\ude00\n\u00e9\""#.to_owned(),
        |text| mcp(&format!(r#"{{"lines":["{}"]}}"#, text.concat())),
    ),
];

fn said(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"x"}}]}}"#)
}

fn heard(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","content":"x"}}"#)
}

fn output(at: usize) -> String {
    format!(r#"{{"type":"tool-note","toolCallId":"c{at}","state":"output-available","output":"x"}}"#)
}

fn approval(at: usize) -> String {
    let approval = format!(r#"{{"id":"c{at}.1-0","approved":true}}"#);
    format!(r#"{{"type":"tool-note","toolCallId":"c{at}","state":"approval-responded","approval":{approval}}}"#)
}

/// A message of the assistant with one call.
fn asked(at: usize) -> String {
    format!(r#"{{"id":"a{at}","role":"assistant","toolCalls":[{}]}}"#, call(at))
}

fn entry(id: &str) -> String {
    format!(r#"{{"interruptId":"{id}","status":"resolved","payload":{{"approved":true}}}}"#)
}

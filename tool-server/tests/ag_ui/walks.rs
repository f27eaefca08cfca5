//! Tests of random conversations: models, people and clients do anything.

use std::collections::BTreeSet;

use axum::Router;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::protocol::ag_ui::ArgumentCheck;
use tool_server::{AgUi, Server};

use crate::{
    ag_ui::legal::Known,
    kit::{input, post, user},
    model::{Finish, Script, Step, play},
    tools::tools,
};

const OF_CLIENT: [&str; 3] = ["paint", "größe.x", "locate"];

fn step() -> impl Strategy<Value = Step> {
    let names = select(vec![
        "fine",
        "fails",
        "panics",
        "asks",
        "asks_within",
        "eager",
        "locate",
        "share",
        "draw",
        "paint",
        "größe.x",
        "unknown",
    ]);
    let pieces = select(vec![
        "{}",
        "{\"what\":",
        "\"x\"}",
        "{\"what\":\"y\"}",
        "{\"window\":\"w\"}",
        "{\"colour\":1}",
        " ",
        "é\n",
    ]);
    prop_oneof![
        3 => "[a-zä\\n]{0,5}".prop_map(Step::Text),
        1 => "[a-z]{0,3}".prop_map(Step::Reasoning),
        6 => names.prop_map(|name| Step::Call(name.to_owned())),
        6 => (0..4usize, pieces).prop_map(|(number, text)| Step::Arguments(number, text.to_owned())),
        3 => (0..4usize).prop_map(Step::End),
        1 => select(vec![Finish::Stop, Finish::ToolCalls, Finish::Length, Finish::ContentFilter]).prop_map(Step::Finish),
        1 => prop_oneof![Just(Step::Fail), Just(Step::Disconnect)],
    ]
}

/// The next request of the client.
#[derive(Clone, Debug)]
enum Move {
    Say(Script),
    /// Sends results of reported calls: the number of each call, and the kind of its result.
    Result(Vec<(usize, u8)>),
    /// Answers interrupts: the number of each, and the kind of its answer.
    Resume(Vec<(usize, u8)>),
    /// Sends the previous request again.
    Again,
    /// Forgets its last messages.
    Forget(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let some = || vec((0..4usize, any::<u8>()), 0..4);
    let one = prop_oneof![
        4 => vec(vec(step(), 0..8), 0..3).prop_map(Move::Say),
        3 => some().prop_map(Move::Result),
        4 => some().prop_map(Move::Resume),
        1 => Just(Move::Again),
        1 => (0..3usize).prop_map(Move::Forget),
    ];
    vec(one, 1..6)
}

/// A client that keeps its conversation as real ones do.
#[derive(Default)]
struct Client {
    messages: Vec<Value>,
    calls: Vec<String>,
    interrupts: Vec<Value>,
    number: usize,
    /// The ids of each response, with the position of its first message.
    ids: Vec<(usize, BTreeSet<String>)>,
}

impl Client {
    fn next_id(&mut self) -> String {
        self.number += 1;
        format!("m{}", self.number)
    }

    /// Makes a move, and returns the entries of the request's `resume`.
    fn make(&mut self, next: &Move, known: &mut Known) -> Value {
        match next {
            Move::Say(script) => {
                let prompt = user(&self.next_id(), &serde_json::to_string(script).unwrap());
                self.messages.push(prompt);
            }
            Move::Result(which) => {
                for (at, how) in which {
                    let call = self.calls.get(*at).cloned().unwrap_or_else(|| "call_nobody".to_owned());
                    let id = self.next_id();
                    let content = ["yes", "{}", "[\"a\"]", ""][usize::from(*how) % 4];
                    let mut result = json!({ "id": id, "role": "tool", "toolCallId": call, "content": content });
                    if *how > 200 {
                        result["error"] = "it failed".into();
                    }
                    self.messages.push(result);
                }
            }
            Move::Resume(which) => {
                let entry = |(at, how): &(usize, u8)| {
                    let id = self.interrupts.get(*at).map_or(json!("call_nobody.1"), |open| open["id"].clone());
                    match how % 6 {
                        0 => json!({ "interruptId": id, "status": "cancelled" }),
                        1 => json!({ "interruptId": id, "status": "resolved", "payload": { "approved": false } }),
                        2 => json!({ "interruptId": id, "status": "resolved", "payload": "Ada" }),
                        3 => {
                            json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true, "editedArgs": { "what": "z" } } })
                        }
                        _ => json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } }),
                    }
                };
                return which.iter().map(entry).collect();
            }
            Move::Again => {}
            Move::Forget(count) => {
                let left = self.messages.len().saturating_sub(*count);
                self.messages.truncate(left);
                // A response of which nothing is left may come again, with the same ids.
                for (_, ids) in self.ids.extract_if(.., |(at, _)| *at >= left) {
                    known.forget(&ids);
                }
            }
        }
        json!([])
    }
}

async fn walk(router: &Router, moves: &[Move], is_v1: bool) {
    let mut known = Known::default();
    let mut client = Client::default();
    let tools: Vec<_> = OF_CLIENT
        .iter()
        .map(|name| json!({ "name": name, "description": "d", "parameters": { "type": "object", "properties": { "colour": { "type": "string" } } } }))
        .collect();
    for next in moves {
        let resume = client.make(next, &mut known);
        let ids = known.ids().clone();
        let (run, version) = (client.next_id(), is_v1.then_some("1.0"));
        let more = json!({ "tools": tools, "resume": resume, "protocolVersion": version, "runId": run });
        let response = post(router, input("t", &Value::from(client.messages.clone()), &more)).await;
        let events = response.events();
        assert!(!response.text.contains("secret:"), "{}", response.text);
        let of_client = ["paint", "größe.x", "locate", "share"];
        let seen = known.check(&events, &of_client, is_v1);
        let none = Vec::new();
        client.interrupts = seen.last["outcome"]["interrupts"].as_array().unwrap_or(&none).clone();
        let calls: Vec<Value> = seen
            .calls
            .iter()
            .map(|(id, name, arguments)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
            .collect();
        client.calls.extend(seen.calls.iter().map(|(id, ..)| id.clone()).filter(|id| known.open.contains_key(id)));
        let id = client.next_id();
        client.ids.push((client.messages.len(), known.ids().difference(&ids).cloned().collect()));
        client.messages.push(json!({ "id": id, "role": "assistant", "content": seen.text, "toolCalls": calls }));
        for event in events.iter().filter(|event| event["type"] == "TOOL_CALL_RESULT") {
            client.messages.push(json!({
                "id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"],
            }));
        }
    }
}

/// A client that has forgotten a failed response gets it again, with the same ids.
#[tokio::test]
async fn a_forgotten_response_comes_again() {
    let script = vec![vec![Step::Call("fine".to_owned())], vec![Step::Fail]];
    for is_v1 in [false, true] {
        let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
        let router = Server::new(agent).ag_ui(AgUi::new()).router();
        walk(&router, &[Move::Say(script.clone()), Move::Forget(2)], is_v1).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, ..ProptestConfig::default() })]
    #[test]
    fn every_stream_is_legal(moves in moves(), is_v1 in any::<bool>(), check in select(vec![ArgumentCheck::Off, ArgumentCheck::Report, ArgumentCheck::Reject])) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
            let router = Server::new(agent).ag_ui(AgUi::new().check(check)).router();
            walk(&router, &moves, is_v1).await;
        });
    }
}

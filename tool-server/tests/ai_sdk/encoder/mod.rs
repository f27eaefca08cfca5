//! Tests of the encoder and of reading requests, without a driver: events in any order, and arbitrary requests. The check of
//! streams follows the protocol's rules, not the encoder's code.

mod any_order;
mod golden;
mod requests;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use tool_run::run::{LogEntry, TurnPart};
use tool_runtime::agent::Event;
use tool_runtime::message::FinishReason;
use tool_runtime::run::{Principal, Prompt, Run, RunOptions, Timestamp};
use tool_runtime::toolset::{RuntimeTool, Toolset};
use tool_server::protocol::ai_sdk::{AiSdkEncoder, StreamSettings};
use tool_server::protocol::{Encoder, End};

/// An encoder and its output.
struct Sent {
    encoder: AiSdkEncoder,
    out: Vec<u8>,
}

impl Sent {
    fn new(settings: StreamSettings) -> Self {
        let mut sent = Self { encoder: AiSdkEncoder::new("m", &"run".into(), settings), out: Vec::new() };
        sent.encoder.begin(&mut sent.out);
        sent
    }

    fn event(&mut self, event: Event<'_>) {
        self.encoder.event(event, Duration::ZERO, &mut self.out);
    }

    fn end(mut self, end: End<'_>) -> Vec<Value> {
        self.encoder.end(end, &mut self.out);
        chunks(&self.out)
    }
}

/// Returns a run whose model has made the calls `called` in one turn. The judge has not checked them yet.
fn run_of(called: &[(&str, &str, &str)]) -> Run {
    let owner = Principal::from("anna");
    let (mut run, _) = Run::new("run".into(), owner.clone(), RunOptions::default(), Vec::new(), Timestamp(0));
    let prompt = Prompt::new(Vec::new(), owner, Timestamp(0));
    let mut log = vec![LogEntry::Prompted { prompt, queued: false }, LogEntry::TurnStarted { at: Timestamp(0) }];
    for (id, name, arguments) in called {
        log.push(LogEntry::Called {
            call: (*id).into(),
            provider_id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).into(),
        });
    }
    let parts = called.iter().map(|(id, ..)| TurnPart::Call { call: (*id).into() }).collect();
    let (finish, usage, at) = (FinishReason::ToolCalls, tool_runtime::message::Usage::default(), Timestamp(0));
    log.push(LogEntry::TurnEnded { parts, finish, usage, model: None, at });
    for event in log {
        run.apply(&event).unwrap();
    }
    run
}

/// Returns a tool of the server, one of the client, and a hidden one.
fn tools() -> Toolset {
    let work = |_, _| async { Ok::<_, tool_runtime::tool::Failure>(Value::Null) };
    let hidden = RuntimeTool::new("secret", "Hidden.").options(|options| {
        options.meta.insert("hidden".to_owned(), true.into());
    });
    let hidden = hidden.handler(work).unwrap();
    let all = Toolset::new().with(RuntimeTool::new("work", "Works.").handler(work).unwrap());
    all.and_then(|all| all.with(RuntimeTool::new("client", "Elsewhere.").external().unwrap()))
        .and_then(|all| all.with(hidden))
        .unwrap()
}

/// The state of a call at the client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Streaming,
    Available,
    Requested,
    Responded,
    Done,
}

/// Returns the chunks of a whole stream, without the end mark.
fn chunks(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).expect("UTF-8");
    let frames = text.strip_suffix("data: [DONE]\n\n").expect("the end is marked");
    let frames = frames.split_terminator("\n\n");
    frames.map(|frame| serde_json::from_str(frame.strip_prefix("data: ").expect("a frame")).expect("JSON")).collect()
}

fn text<'a>(chunk: &'a Value, key: &str) -> &'a str {
    chunk[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {chunk}"))
}

/// Panics unless clients accept the chunks. `known` are calls of earlier responses; the flag is set if an approval was requested.
fn assert_legal(all: &[Value], known: &[(&str, bool)], version: u8) {
    let at = |asked: bool| if asked { At::Requested } else { At::Available };
    let mut calls: BTreeMap<String, At> = known.iter().map(|(id, asked)| ((*id).to_owned(), at(*asked))).collect();
    let mut asked: BTreeMap<String, String> = BTreeMap::new();
    let mut was_asked: BTreeSet<String> =
        known.iter().filter(|(_, asked)| *asked).map(|(id, _)| (*id).to_owned()).collect();
    let mut announced = BTreeSet::new();
    let (mut in_step, mut open) = (false, BTreeSet::new());
    let mut of_step: Vec<String> = Vec::new();
    assert_eq!(all[0]["type"], "start");
    assert!(matches!(text(all.last().unwrap(), "type"), "finish" | "abort" | "error"));
    for chunk in all {
        for (key, value) in chunk.as_object().unwrap() {
            assert!(
                !value.is_null() || matches!(key.as_str(), "input" | "output" | "data"),
                "{key} is null in {chunk}"
            );
        }
        let kind = text(chunk, "type");
        let v7 = ["reset-step", "tool-approval-response", "reasoning-file", "custom", "steering-message"];
        assert!(version >= 7 || !v7.contains(&kind), "{kind} at version {version}");
        match kind {
            "start-step" => {
                assert!(!std::mem::replace(&mut in_step, true), "a step in a step");
                of_step.clear();
            }
            // The client has dropped the step's chunks, so chunks that depend on them are not valid any more.
            "reset-step" => {
                assert!(in_step, "no step to void");
                open.clear();
                for id in of_step.drain(..) {
                    calls.remove(&id);
                    announced.remove(&id);
                    was_asked.remove(&id);
                    asked.retain(|_, call| *call != id);
                }
            }
            "steering-message" => assert!(!in_step && chunk["parts"].is_array(), "{chunk}"),
            "finish-step" => {
                assert!(std::mem::replace(&mut in_step, false), "no step is open");
                assert!(open.is_empty(), "{open:?} at the end of a step");
            }
            "text-start" | "reasoning-start" => assert!(open.insert(text(chunk, "id").to_owned()), "{chunk}"),
            "text-delta" | "reasoning-delta" => assert!(open.contains(text(chunk, "id")), "{chunk}"),
            "text-end" | "reasoning-end" => assert!(open.remove(text(chunk, "id")), "{chunk}"),
            "tool-approval-response" => {
                let call = asked.remove(text(chunk, "approvalId")).expect("nobody was asked");
                assert_eq!(calls.insert(call, At::Responded), Some(At::Requested));
            }
            _ if chunk.get("toolCallId").is_some() && !kind.starts_with("data-") => {
                let id = text(chunk, "toolCallId");
                // Clients of version 6 receive no decisions of others, only the chunks that follow such a decision.
                let is_surprise = version < 7 && calls.get(id) == Some(&At::Requested) && follows_decision(kind, chunk);
                let before = if is_surprise { Some(At::Responded) } else { calls.get(id).copied() };
                if before.is_none() {
                    of_step.push(id.to_owned());
                }
                // The encoder writes provider's calls and nested calls only when they are complete.
                let is_whole = chunk["providerExecuted"] == true || id.contains(".1-");
                let after = match (kind, before) {
                    ("tool-input-available", None) if is_whole => {
                        announced.insert(id.to_owned());
                        At::Available
                    }
                    ("tool-input-start", None) | ("tool-input-delta", Some(At::Streaming)) => At::Streaming,
                    ("tool-input-available", Some(At::Streaming | At::Responded | At::Available | At::Requested)) => {
                        assert!(announced.insert(id.to_owned()), "{id} is announced twice");
                        At::Available
                    }
                    ("tool-input-error", Some(At::Streaming)) => At::Done,
                    ("tool-approval-request", Some(At::Streaming | At::Available | At::Responded)) => {
                        asked.insert(text(chunk, "approvalId").to_owned(), id.to_owned());
                        was_asked.insert(id.to_owned());
                        At::Requested
                    }
                    ("tool-output-available", Some(At::Available | At::Responded)) if chunk["preliminary"] == true => {
                        At::Available
                    }
                    ("tool-output-available", Some(before)) if before != At::Done && chunk["preliminary"] != true => {
                        At::Done
                    }
                    ("tool-output-error", Some(before)) if before != At::Done => At::Done,
                    ("tool-output-denied", Some(before)) if before != At::Done => {
                        assert!(was_asked.contains(id), "{id} was denied, and nobody asked");
                        At::Done
                    }
                    _ => panic!("{chunk} when the call is {before:?}"),
                };
                calls.insert(id.to_owned(), after);
            }
            _ => {}
        }
    }
}

/// Returns `true` if a chunk is not valid before a decision.
fn follows_decision(kind: &str, chunk: &Value) -> bool {
    kind == "tool-approval-request" || kind == "tool-output-available" && chunk["preliminary"] == true
}

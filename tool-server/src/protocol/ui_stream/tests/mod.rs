//! The mapping without a driver: chunks for events in any order, and claims of requests of any shape.

mod any_order;
mod between;
mod golden;
mod legal;
mod pace;
mod requests;

use std::time::Duration;

use serde_json::Value;

use super::{Settings, UiStream};
use crate::protocol::{Encoder, End};
use tool_run::run::{LogEvent, TurnPart};
use tool_runtime::agent::Event;
use tool_runtime::message::FinishReason;
use tool_runtime::run::{Principal, Prompt, Run, RunOptions, Time};
use tool_runtime::toolset::{RuntimeTool, Toolset};

/// A stream, and what it has sent.
struct Sent {
    stream: UiStream,
    out: Vec<u8>,
}

impl Sent {
    fn new(settings: Settings) -> Self {
        let mut sent = Self { stream: UiStream::new("m", &"run".into(), settings), out: Vec::new() };
        sent.stream.begin(&mut sent.out);
        sent
    }

    fn event(&mut self, event: Event<'_>) {
        self.stream.event(event, Duration::ZERO, &mut self.out);
    }

    fn end(mut self, end: End<'_>) -> Vec<Value> {
        self.stream.end(end, &mut self.out);
        legal::chunks(&self.out)
    }
}

/// A run whose model has called `called` in one turn; nobody has looked at the calls yet.
fn run_of(called: &[(&str, &str, &str)]) -> Run {
    let owner = Principal::from("anna");
    let (mut run, _) = Run::new("run".into(), owner.clone(), RunOptions::default(), Vec::new(), Time(0));
    let prompt = Prompt::new(Vec::new(), owner, Time(0));
    let mut log = vec![LogEvent::Prompted { prompt, queued: false }, LogEvent::TurnStarted { at: Time(0) }];
    for (id, name, arguments) in called {
        log.push(LogEvent::Called {
            call: (*id).into(),
            provider_id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).into(),
        });
    }
    let parts = called.iter().map(|(id, ..)| TurnPart::Call { call: (*id).into() }).collect();
    let (finish, usage, at) = (FinishReason::ToolCalls, tool_runtime::message::Usage::default(), Time(0));
    log.push(LogEvent::TurnEnded { parts, finish, usage, model: None, at });
    for event in log {
        run.apply(&event).unwrap();
    }
    run
}

/// A tool of the server, one of the client, and one that no client sees.
fn tools() -> Toolset {
    let work = |_, _| async { Ok::<_, tool_runtime::tool::Failure>(Value::Null) };
    let hidden = RuntimeTool::new("secret", "Hidden.").traits(|traits| {
        traits.meta.insert("hidden".to_owned(), true.into());
    });
    let hidden = hidden.handler(work).unwrap();
    let all = Toolset::new().with(RuntimeTool::new("work", "Works.").handler(work).unwrap());
    all.and_then(|all| all.with(RuntimeTool::new("client", "Elsewhere.").external().unwrap()))
        .and_then(|all| all.with(hidden))
        .unwrap()
}

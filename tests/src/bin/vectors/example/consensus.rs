//! Recorded tool calls of the fixture `consensus`, replayed without models.

use std::{future::ready, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tool_runtime::{
    CallFuture, Output, Toolset,
    toolset::{Invocation, Layer, Next},
};
use tool_test_fixtures::consensus::{Knowledge, Meeting, Person, Seat, constraints, tools};

use super::{answer, compare};

/// The prefix that tool2agent's wrapper writes before an exception (misspelt there, too).
const THROWN: &str = "Exception occured during tool call execution: AgentGaveUpError: ";

/// Runs the calls. If `as_is` is set, reproduces a bug of tool2agent.
pub(super) async fn run(calls: &[Value], as_is: bool) -> Result<(), String> {
    let meeting = Arc::new(Meeting::default());
    let seats: Vec<(Arc<Seat>, Toolset)> = Person::ALL
        .into_iter()
        .map(|me| {
            let knowledge = Knowledge::of(me, |slot| constraints(me, slot));
            let seat = Arc::new(Seat::new(me, knowledge, Arc::clone(&meeting), Duration::ZERO));
            let tools = tools(Arc::clone(&seat));
            (seat, if as_is { tools.layer(AsIs) } else { tools })
        })
        .collect();
    let find = |name: &str| {
        let found = seats.iter().find(|(seat, _)| seat.me.to_string() == name);
        found.ok_or_else(|| format!("there is no {name}"))
    };
    for call in calls {
        let op = call["op"].as_str().ok_or("no op")?;
        let got = if op == "mail: all messages" {
            json!(meeting.mail.sent())
        } else if let Some(name) = op.strip_prefix("mail: unread messages of ") {
            json!(meeting.mail.read(find(name)?.0.me))
        } else if let Some(name) = op.strip_prefix("formatKnowledgeBase(").and_then(|rest| rest.strip_suffix(')')) {
            json!(find(name)?.0.written())
        } else {
            let (name, tool) = op.split_once('.').ok_or_else(|| format!("no such operation: {op}"))?;
            answer(&find(name)?.1, tool, &call["input"], THROWN).await?
        };
        compare(call, &got)?;
    }
    Ok(())
}

/// A bug of tool2agent at 2e688f1: the check that place and time are present returns its own result as the tool's answer, so
/// nothing happens.
struct AsIs;

impl Layer for AsIs {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let given: Value = serde_json::from_str(call.arguments).unwrap_or_default();
        let has_both = ["place", "time"].iter().all(|name| given.get(name).is_some_and(|value| !value.is_null()));
        if ["propose", "confirm", "reject"].contains(&&*call.spec.name) && has_both {
            return Box::pin(ready(Ok(Output::default())));
        }
        next.run()
    }
}

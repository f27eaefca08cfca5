//! The rules for a stream: the official schema, the order that clients enforce, and rules that no client checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde_json::Value;

static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let text = include_str!("../../../tests/clients/ag-ui/schema-1.0.json");
    jsonschema::validator_for(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
});

/// A conversation as a client knows it.
#[derive(Default)]
pub(crate) struct Known {
    ids: BTreeSet<String>,
    /// Calls that were announced and have no result.
    pub(crate) open: BTreeMap<String, String>,
}

/// The content of a checked stream.
pub(crate) struct Seen {
    /// The last event.
    pub(crate) last: Value,
    /// The calls that began, with their names and arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) text: String,
}

impl Known {
    /// Returns the ids that streams have used.
    pub(crate) fn ids(&self) -> &BTreeSet<String> {
        &self.ids
    }

    /// Forgets ids, which a later stream may use again.
    pub(crate) fn forget(&mut self, ids: &BTreeSet<String>) {
        self.ids.retain(|id| !ids.contains(id));
        self.open.retain(|id, _| !ids.contains(id));
    }

    /// Checks a stream for a client of 1.x or 0.x, which executes the tools `of_client`.
    pub(crate) fn check(&mut self, events: &[Value], of_client: &[&str], is_v1: bool) -> Seen {
        for event in events {
            let wrong: Vec<_> = SCHEMA.iter_errors(event).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{event}: {wrong:?}");
        }
        assert_eq!(events[0]["type"], "RUN_STARTED");
        let mut stream = Stream::default();
        for event in events {
            assert!(!stream.is_over, "{event} comes after the end");
            self.check_event(&mut stream, event);
        }
        let last = events.last().unwrap();
        assert!(stream.is_over, "the last event is {last}");
        assert!(stream.open.is_empty(), "open at the end: {:?}", stream.open);
        self.check_end(&stream, last, of_client, is_v1);
        Seen { last: last.clone(), calls: stream.calls, text: stream.text }
    }

    fn check_event(&mut self, stream: &mut Stream, event: &Value) {
        // Some clients accept no other ids. An activity keeps the id of its call.
        let is_activity = event["type"].as_str().is_some_and(|kind| kind.starts_with("ACTIVITY"));
        if let Some(id) = event["messageId"].as_str().filter(|_| !is_activity) {
            assert!(uuid::Uuid::parse_str(id).is_ok(), "the id of a message is no UUID: {event}");
        }
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let (message, call) = (text("messageId"), text("toolCallId"));
        match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_CONTENT" => {
                stream.assert_open(&message);
                stream.text += &text("delta");
            }
            "TEXT_MESSAGE_START" | "REASONING_START" | "REASONING_MESSAGE_START" => {
                self.assert_unique(&message);
                stream.open(&message);
            }
            "REASONING_MESSAGE_CONTENT" => stream.assert_open(&message),
            "TEXT_MESSAGE_END" | "REASONING_END" | "REASONING_MESSAGE_END" => stream.close(&message),
            "TOOL_CALL_START" => {
                self.assert_unique(&call);
                let is_open = |(id, ..): &(String, String, String)| stream.open.contains(id);
                assert!(!stream.calls.iter().any(is_open), "{call} begins before the end of another call");
                stream.open(&call);
                stream.calls.push((call.clone(), text("toolCallName"), String::new()));
                self.open.insert(call, text("toolCallName"));
            }
            "TOOL_CALL_ARGS" => {
                stream.assert_open(&call);
                stream.calls.iter_mut().find(|(id, ..)| *id == call).unwrap().2 += &text("delta");
            }
            "TOOL_CALL_END" => stream.close(&call),
            "TOOL_CALL_RESULT" => {
                assert!(!stream.open.contains(&call), "a result before its call is complete");
                self.assert_unique(&message);
                let name =
                    self.open.remove(&call).unwrap_or_else(|| panic!("a second result, or one of no call: {event}"));
                stream.results.push((name, text("content")));
            }
            "RUN_FINISHED" | "RUN_ERROR" => stream.is_over = true,
            _ => {}
        }
    }

    fn check_end(&self, stream: &Stream, last: &Value, of_client: &[&str], is_v1: bool) {
        // The server gives a client's call a result only if the call did not run, or if the run ended earlier, without failing.
        let has_failed = last["type"] == "RUN_ERROR";
        for (name, content) in &stream.results {
            let is_refused =
                content.contains("did not run") || !has_failed && content.contains("before the call had a result");
            assert!(is_refused || !of_client.contains(&name.as_str()), "{name} has a result: {content}");
        }
        if has_failed {
            return;
        }
        let outcome = &last["outcome"];
        if !is_v1 {
            assert!(outcome.is_null() || outcome["type"] == "interrupt", "an outcome that 0.x refuses: {outcome}");
        }
        let of_stream = stream.calls.iter().filter(|(id, ..)| self.open.contains_key(id));
        let (pending, left): (Vec<_>, Vec<_>) = of_stream.partition(|(_, name, _)| of_client.contains(&name.as_str()));
        let none = Vec::new();
        let interrupts = outcome["interrupts"].as_array().unwrap_or(&none);
        for (id, name, _) in left {
            assert!(interrupts.iter().any(|open| open["toolCallId"] == **id), "{name} is left behind: {last}");
        }
        if is_v1 && outcome["type"] == "success" {
            // The server lists calls in the order in which the model made them, and may send their events in another order.
            let pending: BTreeSet<_> = pending.iter().map(|(id, ..)| id.as_str()).collect();
            let listed = outcome["pendingToolCallIds"].as_array().unwrap_or(&none);
            assert_eq!(listed.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>(), pending);
            assert_eq!(listed.len(), pending.len());
        }
    }

    fn assert_unique(&mut self, id: &str) {
        assert!(self.ids.insert(id.to_owned()), "{id} is used twice");
    }
}

#[derive(Default)]
struct Stream {
    open: BTreeSet<String>,
    calls: Vec<(String, String, String)>,
    /// The results, with the names of their tools.
    results: Vec<(String, String)>,
    text: String,
    is_over: bool,
}

impl Stream {
    fn open(&mut self, id: &str) {
        assert!(self.open.insert(id.to_owned()), "{id} begins twice");
    }

    fn assert_open(&self, id: &str) {
        assert!(self.open.contains(id), "{id} is not open");
    }

    fn close(&mut self, id: &str) {
        assert!(self.open.remove(id), "{id} is not open");
    }
}

//! Tests that a stream of the Responses API gives its turn or an error, whatever its server leaves out or counts differently.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{Format, turn};

/// An item of a turn.
#[derive(Clone, Debug)]
enum Item {
    Text(&'static str),
    Thought(&'static str),
    Call(&'static str),
}

/// The habits of one server.
#[derive(Clone, Copy, Debug)]
struct Habits {
    has_index: bool,
    /// The number that the server adds to the indices of parts.
    offset: u64,
    announces: bool,
    streams: bool,
    ends_texts: bool,
    ends_items: bool,
    repeats_ends: bool,
    repeats_output: bool,
}

fn habits() -> impl Strategy<Value = Habits> {
    (any::<[bool; 7]>(), 0_u64..3).prop_map(|(flags, offset)| {
        let [has_index, announces, streams, ends_texts, ends_items, repeats_ends, repeats_output] = flags;
        // Without an index, only an end tells one text from the next.
        let ends_items = ends_items || !has_index;
        Habits { has_index, offset, announces, streams, ends_texts, ends_items, repeats_ends, repeats_output }
    })
}

impl Item {
    fn json(&self, at: usize, is_done: bool) -> Value {
        let part = |kind: &str, text: &str| if is_done { json!([{"type": kind, "text": text}]) } else { json!([]) };
        match self {
            Self::Text(text) => json!({"type": "message", "role": "assistant", "content": part("output_text", text)}),
            Self::Thought(text) => json!({"type": "reasoning", "summary": [], "content": part("reasoning_text", text)}),
            Self::Call(text) => {
                json!({"type": "function_call", "call_id": format!("c{at}"), "name": "f", "arguments": if is_done { text } else { "" }})
            }
        }
    }

    fn events(&self, at: usize, habits: Habits) -> Vec<Value> {
        let (name, text) = match self {
            Self::Text(text) => ("response.output_text", *text),
            Self::Thought(text) => ("response.reasoning_text", *text),
            Self::Call(text) => ("response.function_call_arguments", *text),
        };
        let part = at as u64 * u64::from(habits.offset > 1) + habits.offset;
        let mut events = Vec::new();
        if habits.announces {
            events.push(json!({"type": "response.output_item.added", "item": self.json(at, false)}));
        }
        if habits.streams {
            for piece in text.split_inclusive(' ') {
                events.push(json!({"type": format!("{name}.delta"), "content_index": part, "delta": piece}));
            }
        }
        if habits.ends_texts {
            events
                .push(json!({"type": format!("{name}.done"), "content_index": part, "text": text, "arguments": text}));
        }
        if habits.ends_items {
            let end = json!({"type": "response.output_item.done", "item": self.json(at, true)});
            events.extend(std::iter::repeat_n(end, 1 + usize::from(habits.repeats_ends && habits.has_index)));
        }
        for event in &mut events {
            if habits.has_index {
                event["output_index"] = json!(at);
            }
        }
        events
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_gives_its_turn_or_an_error(
        items in vec(select(vec![
            Item::Text("Hello you."), Item::Text("x"), Item::Thought("Hm, hm."), Item::Call("{\"x\": 1}"), Item::Call("{}"),
        ]), 1..5),
        habits in habits(),
    ) {
        let mut events: Vec<Value> = items.iter().enumerate().flat_map(|(at, item)| item.events(at, habits)).collect();
        let output: Vec<Value> = if habits.repeats_output {
            items.iter().enumerate().map(|(at, item)| item.json(at, true)).collect()
        } else {
            Vec::new()
        };
        events.push(json!({"type": "response.completed", "response": {"status": "completed", "output": output}}));
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let Ok(deltas) = Format::Responses.decode([stream.as_bytes()]) else { return Ok(()) };
        let turn = turn(deltas);
        let texts: String = items.iter().filter_map(|item| if let Item::Text(text) = item { Some(*text) } else { None }).collect();
        let calls: Vec<&str> = items.iter().filter_map(|item| if let Item::Call(text) = item { Some(*text) } else { None }).collect();
        let is_known = habits.streams || habits.ends_texts || habits.ends_items;
        if is_known || habits.repeats_output {
            prop_assert_eq!(turn.text(), texts, "{}", stream);
        }
        let decoded: Vec<&str> = turn.calls().map(|call| call.arguments.as_str()).collect();
        if habits.announces || habits.ends_items || habits.repeats_output {
            prop_assert_eq!(decoded, calls, "{}", stream);
        }
    }
}

//! Tests that a stream gives its turn, whatever its server leaves out or counts differently. Over the Responses API, it may also give an
//! error.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use tool_models::{anthropic, openai};
use tool_runtime::{schema::Schema, tool::ToolSpec, toolset::ToolList};

use super::{Format, decode, turn};

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

const CALLS: [(&str, &str); 4] = [
    ("get_weather", r#"{"city":"Oslo"}"#),
    ("get_weather", r#"{"city": {"name": "Rome"}}"#),
    ("get", "{}"),
    ("ping", r#"{"a":[1]}"#),
];

/// Returns a list in which one name begins another.
fn tools() -> ToolList {
    let tool = |name| Arc::new(ToolSpec::new(name, "a tool", Schema::new(json!({"type": "object"}))));
    ToolList::new(["get", "get_weather", "ping"].map(tool).to_vec())
}

/// Returns the pieces of `text`, each of at most `length` bytes.
fn pieces(text: &str, length: usize) -> Vec<String> {
    text.as_bytes().chunks(length).map(|piece| String::from_utf8(piece.to_vec()).unwrap()).collect()
}

/// The member by which a server names the call of a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Naming {
    /// An index that begins with this number.
    Index(usize),
    NegativeIndex,
    TextIndex,
    /// The id in each piece, without an index.
    Id,
    /// Neither, so the pieces of a call follow each other.
    Nothing,
}

/// The time at which the name of a call comes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NameComes {
    First,
    InEachPiece,
    InFragments,
    Last,
}

/// The pieces of one call, as the server sends them.
fn chat_pieces(
    at: usize,
    call: (&str, &str),
    naming: Naming,
    comes: NameComes,
    length: usize,
    is_signed: bool,
) -> Vec<Value> {
    let (name, arguments) = call;
    let mut functions: Vec<Value> = match comes {
        NameComes::First => vec![json!({"name": name, "arguments": ""})],
        NameComes::InFragments => pieces(name, 3).iter().map(|piece| json!({"name": piece, "arguments": ""})).collect(),
        NameComes::InEachPiece | NameComes::Last => Vec::new(),
    };
    functions.extend(pieces(arguments, length).into_iter().map(|piece| match comes {
        NameComes::InEachPiece => json!({"name": name, "arguments": piece}),
        _ => json!({"arguments": piece}),
    }));
    functions.extend((comes == NameComes::Last).then(|| json!({"name": name})));
    let count = functions.len();
    let piece = |(number, function): (usize, Value)| {
        let mut piece = Map::from_iter([("function".to_owned(), function)]);
        match naming {
            Naming::Index(first) => drop(piece.insert("index".to_owned(), json!(first + at))),
            Naming::NegativeIndex => drop(piece.insert("index".to_owned(), negative(at))),
            Naming::TextIndex => drop(piece.insert("index".to_owned(), json!(format!("call {at}")))),
            Naming::Id => drop(piece.insert("id".to_owned(), json!(format!("id{at}")))),
            Naming::Nothing => {}
        }
        if number == 0 && matches!(naming, Naming::Index(_) | Naming::NegativeIndex) {
            piece.insert("id".to_owned(), json!(format!("id{at}")));
        }
        if is_signed && number + 1 == count {
            piece.insert("extra_content".to_owned(), json!({"of": at}));
        }
        Value::Object(piece)
    };
    functions.into_iter().enumerate().map(piece).collect()
}

/// Returns -1, 0, 1, …
fn negative(at: usize) -> Value {
    at.checked_sub(1).map_or_else(|| json!(-1), |index| json!(index))
}

/// Puts the lists together: one after another, or one element of each in turn.
fn merge(lists: &[Vec<Value>], in_turn: bool) -> Vec<Value> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    if !in_turn {
        return lists.concat();
    }
    (0..longest).flat_map(|at| lists.iter().filter_map(move |list| list.get(at).cloned())).collect()
}

fn sse(events: impl IntoIterator<Item = Value>) -> String {
    events.into_iter().map(|event| format!("data: {event}\n\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chat_completions_in_any_form_give_their_calls(
        calls in vec(select(CALLS.to_vec()), 1..4),
        naming in select(vec![Naming::Index(0), Naming::NegativeIndex, Naming::Index(5), Naming::TextIndex, Naming::Id, Naming::Nothing]),
        comes in select(vec![NameComes::First, NameComes::InEachPiece, NameComes::InFragments, NameComes::Last]),
        length in 1_usize..30,
        in_turn in any::<bool>(),
        is_signed in any::<bool>(),
        gives_reason in any::<bool>(),
    ) {
        // Without a key, only a name that comes first tells one call from the next.
        let is_clear = naming != Naming::Nothing || ![NameComes::InEachPiece, NameComes::Last].contains(&comes);
        prop_assume!(is_clear);
        let lists: Vec<_> = calls.iter().enumerate().map(|(at, call)| chat_pieces(at, *call, naming, comes, length, is_signed)).collect();
        let chunk = |piece| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
        let mut stream = sse(merge(&lists, in_turn && naming != Naming::Nothing).into_iter().map(chunk));
        if gives_reason {
            stream += &sse([json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})]);
        }
        stream += "data: [DONE]\n\n";
        let turn = turn(decode(openai::Decoder::new(&[], &tools()), [stream.as_bytes()]).unwrap_or_else(|error| panic!("{error}: {stream}")));
        let mut decoded: Vec<_> = turn.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        let mut expected = calls.clone();
        if in_turn || comes == NameComes::Last || comes == NameComes::InFragments {
            // The order is that in which the names are known to be complete.
            decoded.sort_unstable();
            expected.sort_unstable();
        }
        prop_assert_eq!(decoded, expected, "{}", stream);
    }

    #[test]
    fn messages_in_any_form_give_their_blocks(
        calls in vec(select(CALLS.to_vec()), 1..4),
        naming in select(vec![Naming::Index(0), Naming::NegativeIndex, Naming::TextIndex, Naming::Nothing]),
        length in 1_usize..30,
        in_turn in any::<bool>(),
        ends in 0_usize..3,
        input in 0_usize..3,
        gives_reason in any::<bool>(),
    ) {
        // A call without an end and without arguments may have been cut before them.
        prop_assume!(ends > 0 || input != 1 || calls.iter().all(|(_, arguments)| *arguments != "{}"));
        let event = |at: usize, kind: &str, member: &str, value: Value| {
            let mut event = json!({"type": kind, member: value});
            match naming {
                Naming::Index(first) => event["index"] = json!(first + at),
                Naming::NegativeIndex => event["index"] = negative(at),
                Naming::TextIndex => event["index"] = json!(format!("block {at}")),
                _ => {}
            }
            event
        };
        let lists = calls.iter().enumerate().map(|(at, (name, arguments))| {
            // The input is in the begin, in pieces, or in both.
            let whole: Value = if input > 0 { serde_json::from_str(arguments).unwrap() } else { json!({}) };
            let block = json!({"type": "tool_use", "id": format!("t{at}"), "name": name, "input": whole});
            let mut events = vec![event(at, "content_block_start", "content_block", block)];
            if input != 1 {
                let delta = |text| json!({"type": "input_json_delta", "partial_json": text});
                events.extend(pieces(arguments, length).into_iter().map(|text| event(at, "content_block_delta", "delta", delta(text))));
            }
            events.extend((0..ends).map(|_| event(at, "content_block_stop", "x", Value::Null)));
            events
        });
        let mut events = merge(&lists.collect::<Vec<_>>(), in_turn && naming != Naming::Nothing);
        if gives_reason {
            events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
        }
        events.push(json!({"type": "message_stop"}));
        let stream = sse(events);
        let turn = turn(decode(anthropic::Decoder::new(&[], &tools()), [stream.as_bytes()]).unwrap_or_else(|error| panic!("{error}: {stream}")));
        let decoded: Vec<_> = turn.calls().map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).unwrap_or_default())).collect();
        let expected: Vec<(String, Value)> = calls.iter().map(|(name, text)| ((*name).to_owned(), serde_json::from_str(text).unwrap())).collect();
        // An empty input is no arguments.
        let decoded: Vec<_> = decoded.into_iter().map(|(name, value): (String, Value)| (name, if value.is_null() { json!({}) } else { value })).collect();
        prop_assert_eq!(decoded, expected, "{}", stream);
    }
}

//! JSON that arrives in pieces. The value does not depend on the pieces, it is that of `serde_json`, and each value on the way is
//! the beginning of the next.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::Value;
use tool_schema::json::{IncrementalJson, Path, Segment, ValueChange, canonical_text, is_echo};
use tool_test_kit::mutate::Random;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| {
    let seed = data.iter().fold(1, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add((*byte).into()));
    let mut random = Random::new(seed);
    let longest = 1 + random.below(24);
    let (mut json, mut copy, mut whole) = (IncrementalJson::new(), IncrementalJson::new(), IncrementalJson::new());
    let _ = whole.feed(data);
    let has_one_value_for_each_name = has_one_value_for_each_name(data);
    let (mut rest, mut before, mut changed) = (data, None, None);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(longest)).min(rest.len()));
        let result = json.feed_with(piece, &mut |path, change| apply(&mut changed, path, change));
        assert_eq!(changed.as_ref(), json.value(), "the changes lead to the value");
        assert_eq!(copy.feed(piece), result, "a listener does not change the result");
        assert_eq!(result.is_err(), json.error().is_some());
        if let Some(before) = &before
            && has_one_value_for_each_name
        {
            let now = json.value().expect("a value that has begun stays");
            assert!(begins(now, before, true), "{before} is no beginning of {now}");
        }
        before = json.value().cloned();
        rest = after;
    }
    assert_eq!(json.value(), copy.value());
    // A number that is too large in the end may have been a smaller one before.
    assert!(json.error().is_some() || json.value() == whole.value(), "the value does not depend on the pieces");
    assert_eq!((json.error(), json.offset()), (whole.error(), whole.offset()));
    let offset = json.offset();
    match (json.finish(), serde_json::from_slice::<Value>(data)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.to_string(), theirs.to_string());
            compare(data, &ours);
        }
        (Err(error), Err(_)) => {
            assert!(error.offset() <= data.len() && offset <= data.len());
            let _ = (error.to_string(), error.problem());
            if let Ok(text) = str::from_utf8(data) {
                let _ = error.explain(text).to_string();
            }
        }
        (ours, theirs) => panic!("ours: {ours:?}\ntheirs: {theirs:?}"),
    }
});

/// Applies a change to a copy of the value.
fn apply(copy: &mut Option<Value>, path: Path<'_>, change: ValueChange<'_>) {
    let mut place = copy.get_or_insert(Value::Null);
    for step in path.segments() {
        place = match (step, place) {
            (Segment::Name(name), Value::Object(map)) => map.entry(name).or_insert(Value::Null),
            (Segment::Item(index), Value::Array(list)) => {
                if index == list.len() {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            (step, place) => panic!("{place} has no place {step:?}"),
        };
    }
    match (change, place) {
        (ValueChange::Set(value), place) => *place = value.clone(),
        (ValueChange::Append(more), Value::String(text)) => text.push_str(more),
        (ValueChange::Append(_), other) => panic!("{other} is no text"),
        (ValueChange::Closed, _) => {}
    }
}

/// Returns whether `after` continues `before`. Only the last value on the way down, while `is_open`, may have grown.
fn begins(after: &Value, before: &Value, is_open: bool) -> bool {
    match (after, before) {
        _ if after == before => true,
        _ if !is_open => false,
        (Value::Object(after), Value::Object(before)) => {
            before.len() <= after.len()
                && before.iter().zip(after).enumerate().all(|(at, ((name, value), (other, longer)))| {
                    name == other && begins(longer, value, at + 1 == before.len())
                })
        }
        (Value::Array(after), Value::Array(before)) => {
            before.len() <= after.len()
                && before
                    .iter()
                    .zip(after)
                    .enumerate()
                    .all(|(at, (value, longer))| begins(longer, value, at + 1 == before.len()))
        }
        (Value::String(after), Value::String(before)) => after.starts_with(before.as_str()),
        // A number may get more digits, a fraction and an exponent.
        (Value::Number(_), Value::Number(_)) => true,
        _ => false,
    }
}

/// Returns whether no object has a name twice. A later value replaces an earlier one.
fn has_one_value_for_each_name(data: &[u8]) -> bool {
    let mut json = IncrementalJson::new();
    let (mut closed, mut is_unique) = (HashSet::new(), true);
    let _ = json.feed_with(data, &mut |path, change| match change {
        ValueChange::Set(_) => is_unique &= !closed.contains(&path.to_string()),
        ValueChange::Closed => drop(closed.insert(path.to_string())),
        ValueChange::Append(_) => {}
    });
    is_unique
}

/// Compares a text with its canonical form.
fn compare(data: &[u8], value: &Value) {
    let text = str::from_utf8(data).expect("valid JSON is UTF-8");
    let canonical = canonical_text(text);
    assert_eq!(canonical_text(&canonical), canonical, "the canonical form of a canonical form");
    assert!(is_echo(&canonical, text), "a client that sends back what it received: {canonical}");
    // A value has at most 64 bits of a number, so only its shape is compared.
    let again: Value = serde_json::from_str(&canonical).expect("the canonical form is JSON");
    assert_eq!(shape(&again), shape(value));
}

/// Returns the number of values of a value.
fn shape(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(shape).sum(),
        Value::Object(map) => map.values().map(shape).sum(),
        _ => 0,
    }
}

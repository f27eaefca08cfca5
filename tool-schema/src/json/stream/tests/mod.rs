//! However a text is cut: the values in between, the value in the end, and the errors.

mod conformance;
mod limits;
mod split;
mod views;

use serde_json::Value;

use super::{Change, Incremental, Malformed, Path, Segment};

/// Reads the whole of `text`, in pieces of the sizes `sizes`, again and again.
fn read(text: &[u8], sizes: &[usize]) -> Result<Value, Malformed> {
    let mut json = Incremental::new();
    for piece in pieces(text, sizes) {
        // The error stays.
        let _ = json.feed(piece);
    }
    json.finish()
}

fn pieces<'a>(mut text: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        let (piece, rest) = text.split_at((*size).min(text.len()));
        pieces.push(piece);
        text = rest;
        if text.is_empty() {
            break;
        }
    }
    pieces
}

/// Does to a copy what has changed, the way a reader of the documentation would.
fn apply(copy: &mut Option<Value>, path: Path<'_>, change: Change<'_>) {
    let mut steps = path.segments();
    let last = steps.next_back();
    let mut at = copy.as_mut();
    for step in steps {
        at = match step {
            Segment::Name(name) => at.and_then(|at| at.get_mut(name)),
            Segment::Item(index) => at.and_then(|at| at.get_mut(index)),
        };
    }
    match (change, last, at) {
        (Change::Closed, ..) => {}
        (Change::Set(value), None, _) => *copy = Some(value.clone()),
        (Change::Set(value), Some(Segment::Name(name)), Some(Value::Object(map))) => {
            map.insert(name.to_owned(), value.clone());
        }
        (Change::Set(value), Some(Segment::Item(index)), Some(Value::Array(list))) => {
            list.truncate(index);
            assert_eq!(list.len(), index, "items come one after the other");
            list.push(value.clone());
        }
        (Change::Append(more), ..) => {
            let pointer = path.to_string();
            match copy.as_mut().and_then(|copy| copy.pointer_mut(&pointer)) {
                Some(Value::String(text)) => text.push_str(more),
                other => panic!("{pointer} is no text: {other:?}"),
            }
        }
        (change, _, at) => panic!("{change:?} at {path} does not fit {at:?}"),
    }
}

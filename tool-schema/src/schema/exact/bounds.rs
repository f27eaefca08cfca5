//! The bounds of Rust's numbers, written out.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::schema::{number, words};

/// The least and the greatest value of the number type that schemars calls `format`; none on a side that JSON numbers
/// do not reach. `None` if it is no number type.
pub(in crate::schema) fn range_of(format: &str) -> Option<(Option<Number>, Option<Number>)> {
    let range = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "int" => (isize::MIN.into(), isize::MAX.into()),
        "uint8" => (0.into(), u8::MAX.into()),
        "uint16" => (0.into(), u16::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "uint64" => (0.into(), u64::MAX.into()),
        "uint" => (0.into(), usize::MAX.into()),
        "uint128" => return Some((Some(0.into()), None)),
        "int128" | "float" | "double" => return Some((None, None)),
        _ => return None,
    };
    Some((Some(range.0), Some(range.1)))
}

/// Replaces a format that names a number type by the bounds of that type.
pub(super) fn make_explicit(schema: &mut Map<String, Value>) {
    let numeric = |one: &Value| matches!(one.as_str(), Some("integer" | "number"));
    let Some(range) = words::get(schema, "format").and_then(Value::as_str).and_then(range_of) else { return };
    let kinds = words::get(schema, "type");
    if !kinds.is_some_and(|kind| numeric(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(numeric))) {
        return;
    }
    schema.shift_remove("format");
    tighten(schema, "minimum", "exclusiveMinimum", range.0, Ordering::Greater);
    tighten(schema, "maximum", "exclusiveMaximum", range.1, Ordering::Less);
}

/// Sets `word` to `own` unless a tighter bound is there.
fn tighten(schema: &mut Map<String, Value>, word: &str, open: &str, own: Option<Number>, tighter: Ordering) {
    let Some(own) = own else { return };
    let order = |word: &str| Some(number::compare(words::get(schema, word)?.as_number()?, &own));
    if order(word) == Some(tighter) {
        return;
    }
    // A written open bound inside the type's range says it all.
    if order(open).is_some_and(|order| order == tighter || order.is_eq()) {
        schema.shift_remove(word);
    } else {
        schema.insert(word.to_owned(), Value::Number(own));
    }
}

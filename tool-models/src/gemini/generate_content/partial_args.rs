//! The arguments of a call that Vertex AI sends in pieces, each with its path in the arguments.
//!
//! The paths are those of RFC 9535 with names and indices only, such as `$.items[0].name` or `$['a b']`. The types are those of
//! `@google/genai` 2.32.0: <https://googleapis.github.io/js-genai/release_docs/interfaces/types.PartialArg.html>.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The maximum number of steps in a path. No run accepts arguments that are nested deeper, and dropping them would overflow the stack.
const MAX_STEPS: usize = 127;

/// A piece of the arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialArg {
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Value>,
    bool_value: Option<bool>,
}

impl PartialArg {
    /// Returns the path of the piece.
    pub fn json_path(&self) -> &str {
        &self.json_path
    }
}

enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Adds a piece to `arguments`. A text continues the text at its path. Returns `None` if the path has no place.
///
/// The pieces of a list come in its order. A later item has no place, because the items before it would fill the memory.
pub fn apply(arguments: &mut Value, piece: PartialArg) -> Option<()> {
    let mut place = arguments;
    for step in parse(&piece.json_path)? {
        place = match step {
            Step::Name(name) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                place.as_object_mut()?.entry(name).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let list = place.as_array_mut()?;
                if list.len() == index {
                    list.push(Value::Null);
                }
                list.get_mut(index)?
            }
        };
    }
    match (piece.string_value, piece.number_value, piece.bool_value) {
        (Some(more), ..) => match place {
            Value::String(text) => text.push_str(&more),
            _ => *place = more.into(),
        },
        (_, Some(number), _) => *place = whole(number),
        (_, _, Some(is_true)) => *place = is_true.into(),
        _ => *place = Value::Null,
    }
    Some(())
}

/// Returns a number that has no fraction as a whole one. The protocol has floats only.
#[allow(clippy::cast_possible_truncation, reason = "the number is whole, and small enough to be exact")]
fn whole(number: Value) -> Value {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float.fract() == 0.0 && float.abs() < MAX_EXACT => (float as i64).into(),
        _ => number,
    }
}

fn parse(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_STEPS {
            return None;
        }
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            steps.push(Step::Name(&named[..end]));
            rest = &named[end..];
            continue;
        }
        let inner = rest.strip_prefix('[')?;
        if let Some(quote) = inner.chars().next().filter(|first| ['\'', '"'].contains(first)) {
            let (name, more) = inner[1..].split_once(&format!("{quote}]"))?;
            steps.push(Step::Name(name));
            rest = more;
        } else {
            let (index, more) = inner.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = more;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assemble(pieces: Value) -> Option<Value> {
        let mut arguments = Value::Null;
        for piece in serde_json::from_value::<Vec<PartialArg>>(pieces).unwrap() {
            apply(&mut arguments, piece)?;
        }
        Some(arguments)
    }

    #[test]
    fn pieces_by_their_paths() {
        let whole = assemble(json!([
            {"jsonPath": "$.items[0].name", "stringValue": "Bos", "willContinue": true},
            {"jsonPath": "$.items[0].name", "stringValue": "ton"},
            {"jsonPath": "$.items[1]", "nullValue": "NULL_VALUE"},
            {"jsonPath": "$['a b'][\"c\"]", "boolValue": true},
            {"jsonPath": "$.count", "numberValue": 3.0},
            {"jsonPath": "$.price", "numberValue": 0.5},
        ]));
        let expected = json!({"items": [{"name": "Boston"}, null], "a b": {"c": true}, "count": 3, "price": 0.5});
        assert_eq!(whole, Some(expected));
    }

    #[test]
    fn pieces_take_no_more_than_they_have() {
        let piece = |path: String| json!([{"jsonPath": path, "boolValue": true}]);
        for (path, is_ok) in [
            ("$[0]".to_owned(), true),
            ("$[1]".to_owned(), false),
            ("$.a[10000]".to_owned(), false),
            (format!("${}", "[0]".repeat(MAX_STEPS)), true),
            (format!("${}", "[0]".repeat(MAX_STEPS + 1)), false),
            (format!("${}", "[0]".repeat(1_000_000)), false),
            (format!("${}", ".a".repeat(1_000_000)), false),
        ] {
            let shown: String = path.chars().take(20).collect();
            assert_eq!(assemble(piece(path)).is_some(), is_ok, "{shown}");
        }
    }

    #[test]
    fn a_path_without_a_place() {
        for path in ["a", "$a", "$[x]", "$[1", "$['a", "$[99999]", "$.a.b"] {
            let pieces = json!([{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": path, "stringValue": "y"}]);
            assert_eq!(assemble(pieces), None, "{path}");
        }
    }
}

//! Answers that are lists: several values in one answer, or one after another.

use serde_json::{Map, Value};

use super::answer::{self, Answer};
use super::ask::Ask;
use super::shape::{Kind, Shape};
use super::{scalar, words};

/// As many items are asked for one by one.
const MOST: usize = 50;

/// Reads items of `item`'s shape.
pub(super) fn parse(ask: &Ask, item: &Shape, text: &str) -> Answer {
    let Kind::List { least, .. } = ask.shape.kind else { return Answer::Wrong("I need a list here.".into()) };
    if text.starts_with('[') {
        return match serde_json::from_str::<Value>(text) {
            Ok(value) => match ask.shape.check(&value) {
                Ok(()) => Answer::Value(value),
                Err(reason) => Answer::Wrong(format!("That {reason}.")),
            },
            Err(error) => Answer::Wrong(format!("That is not valid JSON ({error}).")),
        };
    }
    let said = words::fold(text);
    if least == 0 && matches!(said.as_str(), "none" | "nothing" | "empty" | "no") {
        return Answer::Value(Value::Array(Vec::new()));
    }
    if item.is_form() {
        return count(ask, text);
    }
    if !is_simple(item) {
        return Answer::Wrong("I need a JSON list here, such as [1, 2].".into());
    }
    if ask.strict && matches!(said.as_str(), "all" | "all of them" | "everything" | "both") {
        return Answer::Items { items: ask.choices.iter().map(|choice| choice.value.clone()).collect(), more: false };
    }
    let more = text.ends_with(',') || text.ends_with("...") || text.ends_with('…');
    let mut items = Vec::new();
    for piece in pieces(text, item, ask.strict) {
        match answer::item(item, &ask.choices, ask.strict, piece) {
            Answer::Value(value) => items.push(value),
            Answer::Near(value) => {
                return Answer::Wrong(format!("{} Did you mean {}?", answer::unknown(piece), scalar::plain(&value)));
            }
            Answer::Wrong(reason) => return Answer::Wrong(format!("“{}”: {reason}", words::shorten(piece, 40))),
            Answer::Several(_) | Answer::Items { .. } => return Answer::Wrong(answer::unknown(piece)),
        }
    }
    if items.is_empty() {
        Answer::Wrong("I need at least one value here.".into())
    } else {
        Answer::Items { items, more }
    }
}

/// Whether values of the shape can stand next to one another in a line.
fn is_simple(shape: &Shape) -> bool {
    !shape.allowed.is_empty() || matches!(shape.kind, Kind::Text(_) | Kind::Number(_) | Kind::Bool | Kind::Either(_))
}

/// How many objects there will be; each is then asked for field by field.
fn count(ask: &Ask, text: &str) -> Answer {
    let Kind::List { least, most, .. } = ask.shape.kind else { return Answer::Wrong("I need a list here.".into()) };
    let number = scalar::number(text).or_else(|| scalar::only_number(text));
    let Some(number) = number.and_then(|number| number.as_u64()).and_then(|number| usize::try_from(number).ok()) else {
        return Answer::Wrong("How many are there? A number will do, or a JSON list.".into());
    };
    let top = most.unwrap_or(MOST);
    if number < least || number > top {
        return Answer::Wrong(format!("That must be from {least} to {top}."));
    }
    if number > MOST {
        return Answer::Wrong(format!("I can ask for {MOST} one by one; please give so many as a JSON list."));
    }
    Answer::Value(Value::Array(vec![Value::Object(Map::new()); number]))
}

/// The pieces of an answer: between commas and lines, and around "and" where that cannot be part of a value.
fn pieces<'a>(text: &'a str, item: &Shape, strict: bool) -> Vec<&'a str> {
    let text = text.trim_end_matches(['.', '…']);
    let listed = text.contains([',', ';', '\n']);
    let mut out = Vec::new();
    for piece in text.split([',', ';', '\n']) {
        let piece = piece.trim();
        let piece = piece.strip_prefix("and ").unwrap_or(piece).trim();
        let joined = strict || listed || !item.is_free_text();
        if joined && answer::unquoted(piece).is_none() {
            out.extend(piece.split(" and "));
        } else {
            out.push(piece);
        }
    }
    out.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value, text: &str) -> Answer {
        answer::parse(&Ask::new("/x", &Shape::of(schema)), text)
    }

    fn items(values: &Value, more: bool) -> Answer {
        Answer::Items { items: values.as_array().cloned().unwrap_or_default(), more }
    }

    #[test]
    fn several_values_in_one_line() {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(read(&texts, "a, b and c"), items(&json!(["a", "b", "c"]), false));
        assert_eq!(read(&texts, "salt and pepper"), items(&json!(["salt and pepper"]), false));
        assert_eq!(read(&texts, "a,"), items(&json!(["a"]), true));
        assert_eq!(read(&texts, "[\"a,b\"]"), Answer::Value(json!(["a,b"])));
        assert_eq!(read(&texts, "none"), Answer::Value(json!([])));
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(read(&numbers, "1 and 2"), items(&json!([1, 2]), false));
        assert!(matches!(read(&numbers, "1, x"), Answer::Wrong(text) if text.contains("“x”")));
    }

    #[test]
    fn several_of_the_allowed_values() {
        let units = json!({"type": "array", "items": {"enum": ["red", "green", "blue"]}});
        assert_eq!(read(&units, "1 and blue"), items(&json!(["red", "blue"]), false));
        assert_eq!(read(&units, "all"), items(&json!(["red", "green", "blue"]), false));
        assert!(matches!(read(&units, "gren"), Answer::Wrong(text) if text.contains("Did you mean green")));
    }

    #[test]
    fn objects_are_counted_first() {
        let schema = json!({"type": "array", "minItems": 1, "maxItems": 4,
            "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}});
        assert_eq!(read(&schema, "two"), Answer::Value(json!([{}, {}])));
        assert_eq!(read(&schema, "5"), Answer::Wrong("That must be from 1 to 4.".into()));
        assert!(matches!(read(&schema, "many"), Answer::Wrong(_)));
    }
}

//! What a dialect cannot say in keywords, said in words.

use serde_json::Value;

use crate::schema::{number, shape::Limit};

/// Longer values are not repeated in a description.
const LONGEST: usize = 120;

/// The limits in words: `1 to 50`, `at most 5 items`, `a multiple of 5`.
pub(super) fn limits(limits: &[&Limit]) -> Vec<String> {
    let find = |word: &str| limits.iter().find(|limit| limit.word == word).map(|limit| &limit.value);
    let mut hints = Vec::new();
    for (least, most, one, many) in [
        ("minimum", "maximum", "", ""),
        ("minLength", "maxLength", " character", " characters"),
        ("minItems", "maxItems", " item", " items"),
        ("minProperties", "maxProperties", " entry", " entries"),
    ] {
        let unit = |count: &Value| if number::count(count) == Some(1) { one } else { many };
        match (find(least).filter(|value| is_said(value)), find(most).filter(|value| is_said(value))) {
            (Some(least), Some(most)) if number::same(least, most) && !many.is_empty() => {
                hints.push(format!("exactly {most}{}", unit(most)));
            }
            (Some(least), Some(most)) => hints.push(format!("{least} to {most}{}", unit(most))),
            (Some(least), None) => hints.push(format!("at least {least}{}", unit(least))),
            (None, Some(most)) => hints.push(format!("at most {most}{}", unit(most))),
            (None, None) => {}
        }
    }
    for limit in limits {
        let value = &limit.value;
        match limit.word {
            "exclusiveMinimum" => hints.push(format!("more than {value}")),
            "exclusiveMaximum" => hints.push(format!("less than {value}")),
            "multipleOf" if number::same(value, &Value::from(1)) => hints.push("a whole number".to_owned()),
            "multipleOf" => hints.push(format!("a multiple of {value}")),
            "pattern" => hints.extend(short(value).map(|pattern| format!("must match {pattern}"))),
            "format" => hints.extend(short(value).map(|format| format!("format: {format}"))),
            "uniqueItems" => hints.push("no item twice".to_owned()),
            _ => {}
        }
    }
    hints
}

/// The bounds of the large number types are noise.
fn is_said(bound: &Value) -> bool {
    let Some(bound) = bound.as_number().and_then(number::whole) else { return true };
    ![i32::MIN.into(), i32::MAX.into(), u32::MAX.into(), i64::MIN.into(), i64::MAX.into(), u64::MAX.into()]
        .contains(&bound)
}

/// `one of "a", "b"`; none if that is long.
pub(super) fn values(values: &[Value]) -> Option<String> {
    let list = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let lead = if values.len() == 1 { "always" } else { "one of" };
    (list.len() <= LONGEST).then(|| format!("{lead} {list}"))
}

/// `default: 20`; none if it says nothing or is long.
pub(super) fn default(value: &Value) -> Option<String> {
    if value.is_null() { None } else { text(value).map(|text| format!("default: {text}")) }
}

/// `for example 5, 6`; none if that is long.
pub(super) fn examples(value: &Value) -> Option<String> {
    let list = value.as_array()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    (!list.is_empty() && list.len() <= LONGEST).then(|| format!("for example {list}"))
}

/// A description with hints behind it.
pub(super) fn described(description: Option<&str>, hints: &[String]) -> Option<String> {
    let (lists, short): (Vec<&String>, Vec<&String>) = hints.iter().partition(|hint| hint.starts_with('`'));
    let mut text = description.map(str::trim_end).unwrap_or_default().to_owned();
    if !short.is_empty() {
        let hints = short.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        text = if text.is_empty() { format!("({hints})") } else { format!("{text} ({hints})") };
    }
    if !lists.is_empty() {
        let list = lists.into_iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n");
        text = if text.is_empty() { list } else { format!("{text}\n\n{list}") };
    }
    (!text.is_empty()).then_some(text)
}

fn short(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| text.len() <= LONGEST)
}

fn text(value: &Value) -> Option<String> {
    Some(value.to_string()).filter(|text| text.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(pairs: &[(&'static str, Value)]) -> String {
        let all: Vec<Limit> =
            pairs.iter().map(|(word, value)| Limit { at: "".into(), word, value: value.clone() }).collect();
        limits(&all.iter().collect::<Vec<_>>()).join("; ")
    }

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(said(&[("minimum", json!(1)), ("maximum", json!(50))]), "1 to 50");
        assert_eq!(said(&[("minLength", json!(1))]), "at least 1 character");
        assert_eq!(said(&[("minItems", json!(3)), ("maxItems", json!(3))]), "exactly 3 items");
        assert_eq!(said(&[("minimum", json!(0)), ("maximum", json!(u64::MAX))]), "at least 0");
        assert_eq!(said(&[("minimum", json!(i64::MIN)), ("maximum", json!(i64::MAX))]), "");
        assert_eq!(
            said(&[("exclusiveMinimum", json!(0.5)), ("multipleOf", json!(5))]),
            "more than 0.5; a multiple of 5"
        );
        assert_eq!(said(&[("pattern", json!("^a$")), ("uniqueItems", json!(true))]), "must match ^a$; no item twice");
    }

    #[test]
    fn hints_stand_behind_the_description() {
        let hints = ["1 to 50".to_owned(), "default: 5".to_owned()];
        assert_eq!(described(Some("How many."), &hints).unwrap(), "How many. (1 to 50; default: 5)");
        assert_eq!(described(None, &hints).unwrap(), "(1 to 50; default: 5)");
        assert_eq!(described(Some("Unit."), &["`c`: Celsius".to_owned()]).unwrap(), "Unit.\n\n- `c`: Celsius");
        assert_eq!(described(None, &[]), None);
    }
}

//! Words for what a dialect has no keywords for.

use serde_json::Value;

use crate::schema::{number, shape::Limit};

/// Longer values are not repeated in a description.
const LONGEST: usize = 120;

/// Returns the limits in words: `1 to 50`, `at most 5 items`, `a multiple of 5`.
pub fn limits(limits: &[&Limit]) -> Vec<String> {
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

/// Returns `false` for the bounds of the large number types, which are noise.
fn is_said(bound: &Value) -> bool {
    let Some(bound) = bound.as_number().and_then(number::whole) else { return true };
    ![i32::MIN.into(), i32::MAX.into(), u32::MAX.into(), i64::MIN.into(), i64::MAX.into(), u64::MAX.into()]
        .contains(&bound)
}

/// Returns a hint such as `one of "a", "b"`; `None` if that is long.
pub fn values(values: &[Value]) -> Option<String> {
    let list = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let lead = if values.len() == 1 { "always" } else { "one of" };
    (list.len() <= LONGEST).then(|| format!("{lead} {list}"))
}

/// Returns a hint such as `default: 20`; `None` for null and for a long value.
pub fn default(value: &Value) -> Option<String> {
    if value.is_null() { None } else { text(value).map(|text| format!("default: {text}")) }
}

/// Returns a hint such as `for example 5, 6`; `None` if that is long.
pub fn examples(value: &Value) -> Option<String> {
    let list = value.as_array()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    (!list.is_empty() && list.len() <= LONGEST).then(|| format!("for example {list}"))
}

/// Returns a description with hints behind it.
pub fn describe(description: Option<&str>, hints: &[String]) -> Option<String> {
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

    fn words(pairs: &[(&'static str, Value)]) -> String {
        let all: Vec<Limit> =
            pairs.iter().map(|(word, value)| Limit { at: "".into(), word, value: value.clone() }).collect();
        limits(&all.iter().collect::<Vec<_>>()).join("; ")
    }

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(words(&[("minimum", json!(1)), ("maximum", json!(50))]), "1 to 50");
        assert_eq!(words(&[("minLength", json!(1))]), "at least 1 character");
        assert_eq!(words(&[("minItems", json!(3)), ("maxItems", json!(3))]), "exactly 3 items");
        assert_eq!(words(&[("minimum", json!(0)), ("maximum", json!(u64::MAX))]), "at least 0");
        assert_eq!(words(&[("minimum", json!(i64::MIN)), ("maximum", json!(i64::MAX))]), "");
        assert_eq!(
            words(&[("exclusiveMinimum", json!(0.5)), ("multipleOf", json!(5))]),
            "more than 0.5; a multiple of 5"
        );
        assert_eq!(words(&[("pattern", json!("^a$")), ("uniqueItems", json!(true))]), "must match ^a$; no item twice");
    }

    #[test]
    fn hints_stand_behind_the_description() {
        let hints = ["1 to 50".to_owned(), "default: 5".to_owned()];
        assert_eq!(describe(Some("How many."), &hints).unwrap(), "How many. (1 to 50; default: 5)");
        assert_eq!(describe(None, &hints).unwrap(), "(1 to 50; default: 5)");
        assert_eq!(describe(Some("Unit."), &["`c`: Celsius".to_owned()]).unwrap(), "Unit.\n\n- `c`: Celsius");
        assert_eq!(describe(None, &[]), None);
    }
}

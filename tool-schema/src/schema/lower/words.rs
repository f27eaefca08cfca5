//! Limits, values and defaults in words, for the descriptions of schemas.

use serde_json::Value;

use crate::schema::{data, format, shape::Limit};

/// The maximum length of a value that a description repeats, in bytes.
const MAX_VALUE_LENGTH: usize = 120;

/// Returns the limits in words: `1 to 50`, `at most 5 items`, `a multiple of 5`.
pub fn describe_limits(limits: &[&Limit]) -> Vec<String> {
    let find = |word: &str| limits.iter().find(|limit| limit.word == word).map(|limit| &limit.value);
    let mut hints = Vec::new();
    for (min, max, one, many) in [
        ("minimum", "maximum", "", ""),
        ("minLength", "maxLength", " character", " characters"),
        ("minItems", "maxItems", " item", " items"),
        ("minProperties", "maxProperties", " entry", " entries"),
    ] {
        let unit = |count: &Value| if data::to_count(count) == Some(1) { one } else { many };
        match (find(min).filter(|value| is_informative(value)), find(max).filter(|value| is_informative(value))) {
            (Some(min), Some(max)) if data::are_equal(min, max) && !many.is_empty() => {
                hints.push(format!("exactly {max}{}", unit(max)));
            }
            (Some(min), Some(max)) => hints.push(format!("{min} to {max}{}", unit(max))),
            (Some(min), None) => hints.push(format!("at least {min}{}", unit(min))),
            (None, Some(max)) => hints.push(format!("at most {max}{}", unit(max))),
            (None, None) => {}
        }
    }
    for limit in limits {
        let value = &limit.value;
        match limit.word {
            "exclusiveMinimum" => hints.push(format!("more than {value}")),
            "exclusiveMaximum" => hints.push(format!("less than {value}")),
            "multipleOf" if data::are_equal(value, &Value::from(1)) => hints.push("a whole number".to_owned()),
            "multipleOf" => hints.push(format!("a multiple of {value}")),
            "pattern" => hints.extend(as_short_str(value).map(|pattern| format!("must match {pattern}"))),
            "format" => hints.extend(as_short_str(value).map(|name| match format::describe(name) {
                Some(words) => words.to_owned(),
                None => format!("format: {name}"),
            })),
            "uniqueItems" => hints.push("no item twice".to_owned()),
            _ => {}
        }
    }
    hints
}

/// Returns whether a bound says more than the range of an integer type of 32 or 64 bits.
fn is_informative(bound: &Value) -> bool {
    let Some(bound) = bound.as_number().and_then(data::to_integer) else { return true };
    ![i32::MIN.into(), i32::MAX.into(), u32::MAX.into(), i64::MIN.into(), i64::MAX.into(), u64::MAX.into()]
        .contains(&bound)
}

/// Returns a hint such as `one of "a", "b"`, or `None` for a long list.
pub fn describe_values(values: &[Value]) -> Option<String> {
    let list = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let lead = if values.len() == 1 { "always" } else { "one of" };
    (list.len() <= MAX_VALUE_LENGTH).then(|| format!("{lead} {list}"))
}

/// Returns a hint such as `default: 20`, or `None` for null and for a long value.
pub fn describe_default(value: &Value) -> Option<String> {
    let text = value.to_string();
    (!value.is_null() && text.len() <= MAX_VALUE_LENGTH).then(|| format!("default: {text}"))
}

/// Returns a hint such as `for example 5, 6`, or `None` for an empty or long list.
pub fn describe_examples(value: &Value) -> Option<String> {
    let list = value.as_array()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    (!list.is_empty() && list.len() <= MAX_VALUE_LENGTH).then(|| format!("for example {list}"))
}

/// Returns `description` with `hints`: hints about single values as a list, and the others in parentheses.
pub fn describe(description: Option<&str>, hints: &[String]) -> Option<String> {
    let (of_values, others): (Vec<&String>, Vec<&String>) = hints.iter().partition(|hint| hint.starts_with('`'));
    let mut text = description.map(str::trim_end).unwrap_or_default().to_owned();
    if !others.is_empty() {
        let hints = others.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        text = if text.is_empty() { format!("({hints})") } else { format!("{text} ({hints})") };
    }
    if !of_values.is_empty() {
        let list = of_values.into_iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n");
        text = if text.is_empty() { list } else { format!("{text}\n\n{list}") };
    }
    (!text.is_empty()).then_some(text)
}

fn as_short_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| text.len() <= MAX_VALUE_LENGTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(pairs: &[(&'static str, Value)]) -> String {
        let all: Vec<Limit> =
            pairs.iter().map(|(word, value)| Limit { at: "".into(), word, value: value.clone() }).collect();
        describe_limits(&all.iter().collect::<Vec<_>>()).join("; ")
    }

    #[test]
    fn limits_become_words() {
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

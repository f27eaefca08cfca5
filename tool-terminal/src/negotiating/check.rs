//! Whether a value fits a shape; what is wrong is said to the person who gave it.

use regex::Regex;
use serde_json::Value;

use super::shape::{Kind, Number, Shape, Text};
use super::{calendar, scalar, words};

/// What is wrong with `value`, as a phrase that follows the name of what it was given for.
pub(super) fn check(shape: &Shape, value: &Value) -> Result<(), String> {
    if value.is_null() && shape.nullable {
        return Ok(());
    }
    if !shape.allowed.is_empty() {
        if shape.allowed.iter().any(|choice| choice.value == *value) {
            return Ok(());
        }
        let some: Vec<_> = shape.allowed.iter().take(5).map(|choice| scalar::plain(&choice.value)).collect();
        let more = if shape.allowed.len() > 5 { ", …" } else { "" };
        return Err(format!("must be one of {}{more}", some.join(", ")));
    }
    match (&shape.kind, value) {
        (Kind::Text(limits), Value::String(text)) => check_text(limits, text, shape.examples.first()),
        (Kind::Number(limits), Value::Number(number)) => {
            check_number(limits, number.as_f64().unwrap_or(f64::NAN), number.is_f64())
        }
        (Kind::Bool, Value::Bool(_)) | (Kind::Anything, _) => Ok(()),
        (Kind::Either(shapes), value) => {
            let mut reasons = Vec::new();
            for shape in shapes {
                match check(shape, value) {
                    Ok(()) => return Ok(()),
                    Err(reason) => reasons.push(reason),
                }
            }
            Err(reasons.join(", or "))
        }
        (Kind::List { item, least, most, unique }, Value::Array(items)) => {
            if items.len() < *least {
                return Err(format!("needs at least {least}"));
            }
            if most.is_some_and(|most| items.len() > most) {
                return Err(format!("takes at most {}", most.unwrap_or_default()));
            }
            if *unique && items.iter().enumerate().any(|(at, item)| items[..at].contains(item)) {
                return Err("must not hold the same value twice".to_owned());
            }
            items.iter().enumerate().try_for_each(|(at, value)| {
                check(item, value).map_err(|reason| format!("(number {}) {reason}", at + 1))
            })
        }
        (Kind::Object { fields, open }, Value::Object(map)) => {
            for field in fields {
                match map.get(&field.name) {
                    Some(value) => check(&field.shape, value).map_err(|reason| format!("({}) {reason}", field.name))?,
                    None if field.required => return Err(format!("needs `{}`", field.name)),
                    None => {}
                }
            }
            match map.keys().find(|key| !open && fields.iter().all(|field| field.name != **key)) {
                Some(key) => Err(format!("has no field `{key}`")),
                None => Ok(()),
            }
        }
        (kind, _) => Err(format!("must be {}", noun(kind))),
    }
}

/// What a kind is called.
pub(super) fn noun(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text(text) => match text.format.as_deref() {
            Some("date") => "a date such as 2026-10-01",
            Some("time") => "a time such as 14:30",
            Some("date-time") => "a date and time such as 2026-10-01T14:30:00Z",
            Some("email") => "an email address",
            Some("uri" | "url") => "a web address such as https://example.com",
            Some("uuid") => "a UUID",
            _ => "a text",
        },
        Kind::Number(Number { integer: true, .. }) => "a whole number",
        Kind::Number(_) => "a number",
        Kind::Bool => "yes or no",
        Kind::List { .. } => "a list",
        Kind::Object { .. } => "an object, such as {\"name\": \"value\"}",
        Kind::Either(_) | Kind::Anything => "a JSON value",
    }
}

fn check_text(limits: &Text, text: &str, example: Option<&Value>) -> Result<(), String> {
    let length = text.chars().count();
    if length < limits.least {
        let least = limits.least;
        return Err(if length == 0 {
            "must not be empty".into()
        } else {
            format!("needs at least {least} characters")
        });
    }
    if let Some(most) = limits.most.filter(|most| length > *most) {
        return Err(format!("takes at most {most} characters, and this has {length}"));
    }
    // What the linear-time engine cannot compile is left to the tool.
    if let Some(pattern) = &limits.pattern
        && Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
    {
        return Err(match example {
            Some(example) => format!("must look like {}", words::shorten(&scalar::plain(example), 60)),
            None => format!("must match {}", words::shorten(pattern, 60)),
        });
    }
    let fits = match limits.format.as_deref() {
        Some("date") => calendar::is_date(text),
        Some("date-time") => calendar::is_date_time(text),
        Some("time") => calendar::is_time(text),
        Some("email") => scalar::is_email(text),
        Some("uri" | "url") => scalar::is_uri(text),
        Some("uuid") => scalar::is_uuid(text),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("must be {}", noun(&Kind::Text(limits.clone())))) }
}

fn check_number(limits: &Number, number: f64, written_with_fraction: bool) -> Result<(), String> {
    if limits.integer && (written_with_fraction || number.fract() != 0.0) {
        return Err("must be a whole number".to_owned());
    }
    let low = limits.min.is_some_and(|min| number < min) || limits.above.is_some_and(|above| number <= above);
    let high = limits.max.is_some_and(|max| number > max) || limits.below.is_some_and(|below| number >= below);
    if low || high || number.is_nan() {
        return Err(format!("must be {}", range(limits).unwrap_or_else(|| "a number".into())));
    }
    match limits.step {
        Some(step) if ((number / step) - (number / step).round()).abs() > 1e-9 => {
            Err(format!("must be a multiple of {step}"))
        }
        _ => Ok(()),
    }
}

/// The range of a number, as a person says it.
pub(super) fn range(limits: &Number) -> Option<String> {
    let low = limits.min.map(|min| (min, "")).or(limits.above.map(|above| (above, "more than ")));
    let high = limits.max.map(|max| (max, "")).or(limits.below.map(|below| (below, "less than ")));
    match (low, high) {
        (Some((low, "")), Some((high, ""))) => Some(format!("from {low} to {high}")),
        (Some((low, more)), Some((high, less))) => Some(format!("{more}{low} and {less}{high}")),
        (Some((low, "")), None) => Some(format!("{low} or more")),
        (Some((low, more)), None) => Some(format!("{more}{low}")),
        (None, Some((high, ""))) => Some(format!("{high} or less")),
        (None, Some((high, less))) => Some(format!("{less}{high}")),
        (None, None) => None,
    }
}

//! Names, literals and comments.

use std::fmt::Write as _;

use serde_json::Value;

/// `text` as the name of a type: words without what stands between them, each with a capital. So it is no word of the
/// language, all of which are in lower case.
pub(super) fn type_name(text: &str) -> String {
    let mut name = String::new();
    let mut begins = true;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(if begins { c.to_ascii_uppercase() } else { c });
        }
        begins = !c.is_ascii_alphanumeric();
    }
    match name.chars().next() {
        None => "Type".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// The name of a member, between quotes where it has to be.
pub(crate) fn key(name: &str) -> String {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    let mut chars = name.chars();
    let is_plain = chars.next().is_some_and(begins) && chars.all(|c| begins(c) || c.is_ascii_digit());
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}

/// The type of which `value` is the only value.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{ [key: string]: never }".to_owned(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", key(name), literal(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join("; "))
        }
        scalar => scalar.to_string(),
    }
}

/// What a schema says to people, as a comment; nothing if it says nothing.
pub(super) fn doc(schema: &Value, indent: &str) -> String {
    let mut text = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let _ = write!(text, "\n@default {default}");
    }
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        text.push_str("\n@deprecated");
    }
    comment(&text, indent)
}

/// `text` as a comment; nothing if it is empty.
pub(crate) fn comment(text: &str, indent: &str) -> String {
    // What a schema's author writes does not end the comment.
    let text = text.trim().replace("*/", "*\\/");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}

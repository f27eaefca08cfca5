//! How a question, and what was understood, are put into words.

use serde_json::Value;

use super::ask::{self, Ask};
use super::shape::{Choice, Kind, Number};
use super::{check, scalar, wording, words};

/// As many values are listed; of more, a part of the one that is meant has to be said.
const LISTED: usize = 12;

/// The question for a value, with all that is needed to answer it.
pub(super) fn question(ask: &Ask) -> String {
    let mut out = wording::sentence(ask);
    let hints = hints(ask);
    if !hints.is_empty() {
        out.extend([" (", &hints.join("; "), ")"]);
    }
    let list = if ask.span().is_some() { String::new() } else { choices(&ask.choices, ask.numbered()) };
    if !list.is_empty() {
        if !ask.strict {
            out.push_str(" For example:");
        }
        out.push('\n');
        out.push_str(&list);
    }
    out
}

/// A question that lets one of several things be named.
pub(super) fn which(question: &str, options: &[String]) -> String {
    let lines: Vec<_> = options.iter().enumerate().map(|(at, option)| format!("  {}. {option}", at + 1)).collect();
    format!("{question}\n{}", lines.join("\n"))
}

/// The values that can be chosen, one a line.
pub(super) fn choices(choices: &[Choice], numbered: bool) -> String {
    let mut lines = Vec::new();
    for (at, choice) in choices.iter().take(LISTED).enumerate() {
        let mark = if numbered { format!("{}.", at + 1) } else { "-".to_owned() };
        let label = if choice.label.is_empty() {
            String::new()
        } else {
            format!(" – {}", words::shorten(words::first_sentence(&choice.label), 70))
        };
        lines.push(format!("  {mark} {}{label}", words::shorten(&scalar::plain(&choice.value), 80)));
    }
    if choices.len() > LISTED {
        lines.push(format!("  … and {} more: say a part of the one you mean", choices.len() - LISTED));
    }
    lines.join("\n")
}

/// What is settled, as `name: value, name: value`; empty when nothing is.
pub(super) fn settled(values: &Value) -> String {
    let mut out = Vec::new();
    collect(values, "", &mut out);
    out.join(", ")
}

fn collect(value: &Value, pointer: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| collect(value, &ask::field(pointer, name), out)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, &format!("{pointer}/{at}"), out));
        }
        value => out.push(format!("{}: {}", ask::label(pointer), words::shorten(&scalar::plain(value), 60))),
    }
}

/// What helps to answer: range, form, default, example.
fn hints(ask: &Ask) -> Vec<String> {
    let shape = &ask.shape;
    let mut out = Vec::new();
    match &shape.kind {
        Kind::Number(limits) if ask.choices.is_empty() => {
            // Bounds that only say how wide the machine's number is are of no use to a person.
            let near = |bound: &f64| bound.abs() < 2_147_483_647.0;
            let shown = Number { min: limits.min.filter(near), max: limits.max.filter(near), ..limits.clone() };
            let trivial = shown.max.or(shown.below).is_none() && shown.min == Some(0.0);
            out.extend(check::range(&shown).filter(|_| !trivial));
        }
        Kind::Text(text) if ask.choices.is_empty() => {
            let example = shape.examples.is_empty() && shape.default.is_none();
            match text.format.as_deref() {
                Some("date" | "date-time" | "time" | "email" | "uri" | "url" | "uuid") => {
                    out.push(check::noun(&shape.kind).to_owned());
                }
                _ if example && text.pattern.is_some() => {
                    out.extend(
                        text.pattern.as_deref().map(|pattern| format!("must match {}", words::shorten(pattern, 60))),
                    );
                }
                _ => {}
            }
        }
        Kind::List { item, .. } if !item.is_form() => out.push(
            if matches!(item.kind, Kind::Object { .. } | Kind::List { .. } | Kind::Anything) && item.allowed.is_empty()
            {
                "a JSON list".to_owned()
            } else {
                "one, or several with commas; end with a comma to go on".to_owned()
            },
        ),
        Kind::Object { fields, .. } if fields.is_empty() => out.push("as JSON, or as name: value pairs".to_owned()),
        Kind::Object { fields, .. } => {
            let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
            out.push(format!("any of {} as name: value pairs; or “none”", names.join(", ")));
        }
        Kind::Anything => out.push("as JSON".to_owned()),
        _ => {}
    }
    out.extend(ask.span().map(|(first, last)| format!("from {first} to {last}")));
    if let Some(default) = &shape.default {
        let default = words::shorten(&scalar::plain(default), 40);
        out.push(if default.is_empty() {
            "say “default” for none".into()
        } else {
            format!("say “default” for {default}")
        });
    } else if ask.choices.is_empty()
        && let Some(example) = shape.examples.first()
    {
        out.push(format!("for example {}", words::shorten(&scalar::plain(example), 60)));
    }
    if ask.optional {
        out.push("or “skip”".to_owned());
    } else if shape.nullable {
        out.push("or “none”".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::shape::Shape;
    use super::*;

    fn asked(pointer: &str, schema: &Value) -> String {
        question(&Ask::new(pointer, &Shape::of(schema)))
    }

    #[test]
    fn hints_say_what_is_accepted() {
        for (schema, expected) in [
            (json!({"type": "integer", "minimum": 1, "maximum": 50}), "How many guests? (from 1 to 50)"),
            (json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}), "How many guests?"),
            (
                json!({"type": "number", "exclusiveMinimum": 0, "default": 2}),
                "What are the guests? (more than 0; say “default” for 2)",
            ),
            (json!({"type": "string", "examples": ["Ada, Bob"]}), "What are the guests? (for example Ada, Bob)"),
            (json!({"type": "string", "pattern": "^x+$"}), "What are the guests? (must match ^x+$)"),
            (json!({"type": ["string", "null"]}), "What are the guests? (or “none”)"),
            (json!({"type": "boolean"}), "Guests, yes or no?"),
            (json!({"enum": ["a", "b"]}), "Which guests?\n  1. a\n  2. b"),
            (json!({"enum": [5, 1]}), "Which guests?\n  - 5\n  - 1"),
            (
                json!({"type": "object", "properties": {"a": {}}}),
                "What are the guests? (any of a as name: value pairs; or “none”)",
            ),
        ] {
            assert_eq!(asked("/guests", &schema), expected);
        }
        let many: Vec<_> = (0..30).map(|n| format!("v{n}")).collect();
        assert!(asked("/x", &json!({"enum": many})).ends_with("  … and 18 more: say a part of the one you mean"));
    }
}

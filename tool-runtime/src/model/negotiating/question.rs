//! How a question, and what was understood, are put into words.

use serde_json::Value;

use super::ask::{self, Ask};
use super::shape::{Choice, Kind, Number, Shape};
use super::{check, scalar, words};

/// As many values are listed; of more, a part of the one that is meant has to be said.
const LISTED: usize = 12;

/// First words of descriptions that give orders to a model rather than name a thing.
const ORDERS: &[&str] = &[
    "accepts",
    "choose",
    "comma",
    "controls",
    "defines",
    "determines",
    "disable",
    "do",
    "enable",
    "enter",
    "exclude",
    "filter",
    "filters",
    "give",
    "if",
    "include",
    "indicates",
    "limit",
    "must",
    "only",
    "optional",
    "pick",
    "provide",
    "required",
    "return",
    "returns",
    "select",
    "set",
    "show",
    "specifies",
    "specify",
    "use",
    "used",
    "when",
    "whether",
];
const QUESTIONS: &[&str] = &["how", "what", "when", "where", "which", "who", "whom", "whose", "why"];
const PREPOSITIONS: &[&str] = &["after", "at", "before", "by", "for", "from", "in", "of", "on", "to", "until", "with"];

/// The question for a value, with all that is needed to answer it.
pub(super) fn question(ask: &Ask) -> String {
    let mut out = sentence(ask);
    let hints = hints(ask);
    if !hints.is_empty() {
        out.push_str(&format!(" ({})", hints.join("; ")));
    }
    let list = choices(&ask.choices, ask.numbered());
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

/// The question itself, without hints; one inside an object or list begins with where it belongs.
fn sentence(ask: &Ask) -> String {
    let (holder, _) = ask.pointer.rsplit_once('/').unwrap_or_default();
    let asked = bare(ask);
    if holder.is_empty() { words::capital(&asked) } else { format!("{}: {asked}", words::capital(&ask::label(holder))) }
}

fn bare(ask: &Ask) -> String {
    let (shape, label) = (&ask.shape, ask::last(&ask.pointer));
    let label = shape.title.clone().filter(|title| words::fold(title) != words::fold(&label)).unwrap_or(label);
    let details = || {
        let details = words::shorten(words::first_sentence(&shape.description), 160);
        if details.is_empty() { details } else { format!(" {}.", words::capital(&details)) }
    };
    if matches!(&shape.kind, Kind::List { item, .. } if item.is_form() && ask.choices.is_empty()) {
        return format!("how many {label}? I will ask for each.");
    }
    if shape.kind == Kind::Bool {
        let told = words::fold(&shape.description) == words::fold(&label);
        return format!("{label}, yes or no?{}", if told { String::new() } else { details() });
    }
    if let Some(asked) = asked(&shape.description) {
        return format!("{asked}?");
    }
    match thing(&shape.description).filter(|thing| names(thing, &label)) {
        Some(thing) if ask.strict => format!("which {}?", without_article(&thing)),
        Some(thing) => format!("what {} {}?", if is_plural(&thing) { "are" } else { "is" }, with_article(&thing)),
        None if PREPOSITIONS.contains(&label.as_str()) => format!("{label}?{}", details()),
        None if ask.strict => format!("which {label}?{}", details()),
        None if is_whole(shape) && is_plural(&label) => format!("how many {label}?{}", details()),
        None => format!("what {} {}?{}", if is_plural(&label) { "are" } else { "is" }, with_article(&label), details()),
    }
}

/// Whether a phrase can stand for the parameter: "no longer needed or by mistake" says what to answer, not what it is.
fn names(phrase: &str, label: &str) -> bool {
    let said = words::tokens(phrase);
    !phrase.contains(" or ") || words::tokens(label).iter().any(|token| said.contains(token))
}

/// A description that names a thing in few words, ready to stand in a sentence.
fn thing(description: &str) -> Option<String> {
    let sentence = words::first_sentence(description);
    let end = sentence.find([',', '(', ';', ':', '\n', '—']).unwrap_or(sentence.len());
    let end = [" - ", " – ", " e.g", " such as ", " in the format", " in format"]
        .iter()
        .filter_map(|mark| sentence.find(mark))
        .fold(end, usize::min);
    let phrase = sentence[..end].trim().trim_end_matches('.');
    let folded = words::fold(phrase);
    let first = folded.split(' ').next().unwrap_or_default();
    let odd = ORDERS.contains(&first) || QUESTIONS.contains(&first) || phrase.contains(['`', '?', '"']);
    let count = folded.split(' ').count();
    (!phrase.is_empty() && !odd && count <= 12 && phrase.len() <= 80).then(|| lowered(phrase))
}

/// A description that is a question already.
fn asked(description: &str) -> Option<String> {
    let sentence = words::first_sentence(description).trim_end_matches('?');
    let first = words::fold(sentence);
    let first = first.split(' ').next().unwrap_or_default();
    (QUESTIONS.contains(&first) && sentence.len() <= 100).then(|| lowered(sentence))
}

/// The phrase with a small first letter, unless its first word is an acronym or a name.
fn lowered(phrase: &str) -> String {
    let first = phrase.split(' ').next().unwrap_or_default();
    let capitals = first.chars().filter(|c| c.is_uppercase()).count();
    if capitals > 1 || first.contains('.') {
        return phrase.to_owned();
    }
    let mut chars = phrase.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

fn with_article(phrase: &str) -> String {
    let first = phrase.split(' ').next().unwrap_or_default();
    if matches!(first, "the" | "a" | "an" | "your" | "his" | "her" | "its" | "their" | "any" | "each" | "one" | "all") {
        phrase.to_owned()
    } else {
        format!("the {phrase}")
    }
}

fn without_article(phrase: &str) -> &str {
    ["the ", "a ", "an "].iter().find_map(|article| phrase.strip_prefix(article)).unwrap_or(phrase)
}

/// Whether a phrase is about several things: its head, which comes before the first preposition, ends in `s`.
fn is_plural(phrase: &str) -> bool {
    let folded = words::fold(phrase);
    let head = folded.split(' ').take_while(|word| !PREPOSITIONS.contains(word)).last().unwrap_or_default();
    head.len() > 2 && head.ends_with('s') && !["ss", "us", "is", "ews"].iter().any(|end| head.ends_with(end))
}

fn is_whole(shape: &Shape) -> bool {
    matches!(&shape.kind, Kind::Number(Number { integer: true, .. }))
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

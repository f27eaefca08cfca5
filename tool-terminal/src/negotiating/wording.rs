//! How a name and a description become a question.

use super::ask::{self, Ask};
use super::shape::{Kind, Number, Shape};
use super::words;

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

/// The question itself, without hints; one inside an object or list begins with where it belongs.
pub(super) fn sentence(ask: &Ask) -> String {
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
    let lists = ["An array of ", "Array of ", "A list of ", "List of ", "The list of "];
    let phrase = lists.iter().find_map(|lead| phrase.strip_prefix(lead)).unwrap_or(phrase);
    let folded = words::fold(phrase);
    let first = folded.split(' ').next().unwrap_or_default();
    let odd = ORDERS.contains(&first) || QUESTIONS.contains(&first) || phrase.contains(['`', '?', '"']);
    let count = folded.split(' ').count();
    (!phrase.is_empty() && !odd && count <= 12 && phrase.len() <= 80).then(|| lowered(phrase))
}

/// A description that is a question already.
fn asked(description: &str) -> Option<String> {
    let sentence = words::first_sentence(description).trim_end_matches('?');
    let folded = words::fold(sentence);
    let mut said = folded.split(' ');
    let (first, second) = (said.next().unwrap_or_default(), said.next().unwrap_or_default());
    // "How many people travel" asks; "where the journey begins" names.
    let names = ["a", "an", "he", "it", "she", "the", "they", "this", "we", "you", "your"].contains(&second);
    (QUESTIONS.contains(&first) && !names && sentence.len() <= 100).then(|| lowered(sentence))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_becomes_a_question() {
        for (pointer, description, expected) in [
            ("/city", "The city name, e.g. Paris.", "What is the city name?"),
            ("/from", "Airport of departure.", "What is the airport of departure?"),
            ("/from", "", "From?"),
            ("/id", "ID of the order", "What is the ID of the order?"),
            ("/names", "Names of the files to read", "What are the names of the files to read?"),
            ("/who", "Who is travelling?", "Who is travelling?"),
            ("/from", "Where the journey begins.", "From? Where the journey begins."),
            ("/first_name", "", "What is the first name?"),
            ("/state", "Filter by state. Default: all.", "What is the state? Filter by state."),
            ("/reason", "No longer needed or by mistake", "What is the reason? No longer needed or by mistake."),
            ("/a/0/b", "", "A 1: what is the b?"),
        ] {
            let shape = Shape::of(&json!({"type": "string", "description": description}));
            assert_eq!(sentence(&Ask::new(pointer, &shape)), expected);
        }
    }
}

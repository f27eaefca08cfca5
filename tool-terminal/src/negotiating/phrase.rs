//! Values found by the words around them ("from Paris to Rome", "called demo"), or by their own form, such as addresses and
//! dates.

use std::ops::Range;

use regex::Regex;
use serde_json::Value;

use super::extract::{self, Hunt, Slot};
use super::shape::{Kind, Shape, Text};
use super::{answer, scalar, words};

const FROM: &[&str] = &["from", "origin", "departur", "depart", "sourc", "start"];
const TO: &[&str] = &["to", "destination", "arrival", "arriv", "target", "end"];
const PLACE: &[&str] = &["city", "location", "plac", "town", "country", "region", "vill", "vicinity"];
const QUERY: &[&str] = &["query", "q", "search", "term", "keyword", "topic"];
const NAME: &[&str] = &["nam", "titl"];

/// Words that end a name in lower case.
const ENDS: &[&str] = &[
    "after", "and", "as", "at", "because", "before", "but", "by", "for", "from", "in", "is", "now", "of", "on", "or",
    "please", "right", "so", "thanks", "then", "to", "today", "tomorrow", "tonight", "using", "via", "when", "with",
];

/// Words that do not begin a place.
const NO_PLACE: &[&str] = &[
    "a", "an", "case", "degrees", "detail", "english", "general", "her", "his", "it", "mind", "my", "order", "our",
    "that", "the", "their", "this", "these", "those", "which", "your", "me", "you", "us", "them", "him",
];

/// Claims the places in `from X to Y`. Also claims `from X` or `to Y` alone, if X or Y is written like a name.
pub fn from_to(hunt: &mut Hunt<'_>) {
    let from = end(hunt, FROM);
    let to = end(hunt, TO);
    let both = hunt.folded.iter().any(|word| word == "from") && hunt.folded.iter().any(|word| word == "to");
    for (word, slot) in [("from", from), ("to", to)] {
        let Some(slot) = slot else { continue };
        // The last "to" is the most likely one: "I want to fly to Rome".
        let places = (0..hunt.words.len()).rev().filter(|at| hunt.folded[*at] == word && !hunt.taken[*at]);
        for at in places.collect::<Vec<_>>() {
            let Some(span) = name(hunt, at + 1) else { continue };
            let written = hunt.is_capital(span.start);
            let exact = hunt.slots[slot].exact(hunt.span(span.clone())).is_some();
            let after_from = word == "from" || hunt.folded[..at].iter().any(|known| known == "from");
            if !(written || exact || (both && after_from) || is_spoken(hunt, slot, &span)) {
                continue;
            }
            if hunt.claim(slot, hunt.span(span.clone()), at..span.end) {
                break;
            }
        }
    }
}

/// Returns whether words in lower case can be the start or destination of a journey: "fly from london", but not "I want to fly".
fn is_spoken(hunt: &Hunt<'_>, slot: usize, span: &Range<usize>) -> bool {
    const GOING: &[&str] = &["fly", "go", "travel", "get", "leave", "be", "see", "visit", "start", "come", "pay"];
    let first = hunt.folded[span.start].as_str();
    let verb = words::is_verb(&words::stem(first)) || GOING.contains(&first);
    let slot = &hunt.slots[slot];
    slot.is_like(PLACE) && slot.is_named(&[&FROM[1..], &TO[1..]].concat()) && !verb && !NO_PLACE.contains(&first)
}

/// Claims the name of a month, if one parameter is the number of a month.
pub fn months(hunt: &mut Hunt<'_>) {
    let Some(slot) = hunt.sole(|slot| slot.shape.is_month(&slot.pointer)) else { return };
    // "may" is a verb, "May" is not.
    let named = |at: &usize| !hunt.taken[*at] && hunt.is_capital(*at) || hunt.folded[*at].len() > 3;
    let found: Vec<usize> =
        (0..hunt.words.len()).filter(named).filter(|at| scalar::month(hunt.word(*at)).is_some()).collect();
    if let [at] = found[..]
        && let Some(month) = scalar::month(hunt.word(at)).map(Value::from)
        && hunt.slots[slot].shape.check(&month).is_ok()
    {
        let from = at - usize::from(at > 0 && hunt.folded[at - 1] == "in");
        hunt.settle(slot, month, from..at + 1);
    }
}

/// Claims X in `in X`, `at X` or `for X`, if one parameter is a place.
pub fn places(hunt: &mut Hunt<'_>) {
    let Some(slot) = hunt
        .sole(|slot| is_open_text(slot) && slot.is_named(PLACE))
        .or_else(|| hunt.sole(|slot| is_open_text(slot) && slot.required && slot.is_like(PLACE)))
    else {
        return;
    };
    for word in ["in", "at", "for", "near"] {
        for at in (0..hunt.words.len()).filter(|at| hunt.folded[*at] == word && !hunt.taken[*at]).collect::<Vec<_>>() {
            let Some(span) = name(hunt, at + 1) else { continue };
            let first = hunt.folded[span.start].clone();
            let odd = NO_PLACE.contains(&first.as_str()) || is_time(&first);
            if odd || hunt.word(span.start).contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            if hunt.claim(slot, hunt.span(span.clone()), at..span.end) {
                return;
            }
        }
    }
}

/// Claims the only name in the sentence, if a place is the only missing text.
pub fn lone_name(hunt: &mut Hunt<'_>) {
    let needed = |slot: &&Slot<'_>| !slot.settled && slot.required && is_open_text(slot);
    let Some(slot) = hunt.sole(|slot| slot.required && is_open_text(slot) && slot.is_like(PLACE)) else { return };
    if hunt.slots.iter().filter(needed).count() != 1 {
        return;
    }
    let begins = |at: &usize| {
        let plain = !words::is_stop(&hunt.folded[*at]) && !is_time(&hunt.folded[*at]) && hunt.word(*at).len() > 1;
        hunt.is_capital(*at)
            && plain
            && !hunt.taken[*at]
            && !(hunt.is_capital(*at - 1) && hunt.joined(*at - 1) && *at > 1)
    };
    let names: Vec<usize> = (1..hunt.words.len()).filter(begins).collect();
    if let [at] = names[..]
        && let Some(span) = name(hunt, at)
    {
        hunt.claim(slot, hunt.span(span.clone()), span);
    }
}

/// Returns whether a word (in lower case) names a month or a day.
fn is_time(word: &str) -> bool {
    (word.len() > 3 && scalar::month(word).is_some()) || (word.ends_with("day") && word.len() > 5)
}

/// Reads a text directly after the name of its parameter: `message "Fix it"`, `with label Work`.
pub fn after_name(hunt: &mut Hunt<'_>, slot: usize, from: usize, to: usize) -> Option<(Value, Range<usize>)> {
    if !is_open_text(&hunt.slots[slot]) {
        return None;
    }
    let start = hunt.words.get(to)?.start;
    let gap = &hunt.text[hunt.words[to - 1].end..start];
    if let Some(quote) = extract::quotes(hunt.text).into_iter().find(|quote| quote.contains(&(start - 1)))
        && gap.trim().chars().count() == 1
    {
        let value = hunt.slots[slot].read(&hunt.text[quote.clone()]).ok()?;
        hunt.take(&quote);
        return Some((value, from..to));
    }
    let with = from > 0 && hunt.folded[from - 1] == "with";
    let span = name(hunt, to).filter(|_| with)?;
    let value = hunt.slots[slot].read(hunt.span(span.clone())).ok()?;
    Some((value, from - 1..span.end))
}

/// Returns whether a parameter is a place or the end of a journey, so that a preposition before its value is not part of it.
pub fn is_place(root: &Shape, pointer: &str) -> bool {
    let hunt = Hunt::new(root, &Value::Null, "");
    let like = |slot: &Slot<'_>| {
        slot.is_like(PLACE) || slot.is_like(&FROM[1..]) || slot.is_like(&TO[1..]) || slot.is_named(&["from", "to"])
    };
    hunt.slots.iter().any(|slot| slot.pointer == pointer && like(slot))
}

/// Claims X in `called X` or `named X`.
pub fn called(hunt: &mut Hunt<'_>) {
    let Some(slot) = hunt.sole(|slot| is_open_text(slot) && slot.is_named(NAME)) else { return };
    let Some(at) = hunt.folded.iter().position(|word| word == "called" || word == "named") else { return };
    let Some(word) = hunt.words.get(at + 1).cloned().filter(|_| !hunt.is_taken(at..at + 2)) else { return };
    let quote = extract::quotes(hunt.text).into_iter().find(|quote| quote.start <= word.start && word.end <= quote.end);
    let place = quote.unwrap_or(word);
    if hunt.claim(slot, &hunt.text[place.clone()], at..at + 1) {
        hunt.take(&place);
    }
}

/// Claims the only text in quotes, if one required parameter accepts any text.
pub fn quoted(hunt: &mut Hunt<'_>) {
    let quotes = extract::quotes(hunt.text);
    let [quote] = &quotes[..] else { return };
    let touched = hunt
        .words
        .iter()
        .zip(&hunt.taken)
        .any(|(word, taken)| *taken && word.start < quote.end && quote.start < word.end);
    let Some(slot) = hunt.sole(|slot| slot.required && slot.shape.is_free_text()).filter(|_| !touched) else { return };
    if let Some(inner) = answer::unquoted(&hunt.text[quote.clone()])
        && hunt.slots[slot].shape.check(&Value::from(inner)).is_ok()
    {
        hunt.take(quote);
        hunt.settle(slot, Value::from(inner), 0..0);
    }
}

/// Claims X in `search for X` or `look up X`, if one required parameter is a search query. Claims a whole question, if one
/// required parameter is a question.
pub fn subject(hunt: &mut Hunt<'_>) {
    if hunt.text.ends_with('?')
        && !hunt.taken.contains(&true)
        && let Some(slot) = hunt.sole(|slot| slot.required && slot.shape.is_free_text() && slot.is_named(&["question"]))
        && hunt.claim(slot, hunt.text, 0..hunt.words.len())
    {
        return;
    }
    let end = hunt.words.len();
    if let Some(slot) = hunt.sole(|slot| slot.required && slot.shape.is_free_text() && slot.is_named(QUERY))
        && let Some(at) = hunt.folded.iter().position(|word| word == "for" || word == "about")
        && at + 1 < end
        && !hunt.is_taken(at..end)
    {
        hunt.claim(slot, hunt.span(at + 1..end), at..end);
    }
}

/// Returns the only parameter for this end of a journey or period, by its name, or else by its description.
fn end(hunt: &Hunt<'_>, stems: &[&str]) -> Option<usize> {
    hunt.sole(|slot| is_text(slot) && slot.is_named(stems)).or_else(|| {
        let none_named = hunt.slots.iter().all(|slot| !slot.is_named(stems));
        // The first stem is a preposition, which nearly every description contains.
        hunt.sole(|slot| is_text(slot) && slot.is_like(&stems[1..])).filter(|_| none_named)
    })
}

fn is_text(slot: &Slot<'_>) -> bool {
    matches!(slot.shape.kind, Kind::Text(_)) || !slot.shape.allowed.is_empty()
}

fn is_open_text(slot: &Slot<'_>) -> bool {
    slot.shape.is_free_text() && slot.shape.format().is_none()
}

/// Returns the words of the name that begins at `from`: all capitalized words, or words up to one of [`ENDS`].
fn name(hunt: &Hunt<'_>, from: usize) -> Option<Range<usize>> {
    if from >= hunt.words.len() || hunt.taken[from] || !hunt.joined(from - 1) {
        return None;
    }
    let is_date = scalar::has_format("date", hunt.word(from));
    let named = hunt.is_capital(from);
    let mut to = from;
    while to < hunt.words.len() && to - from < if named { 5 } else { 3 } && !hunt.taken[to] {
        let word = hunt.word(to);
        let capital = hunt.is_capital(to);
        let link = to > from && matches!(hunt.folded[to].as_str(), "de" | "la" | "of" | "del" | "am" | "upon" | "le");
        let next = to + 1 < hunt.words.len() && hunt.is_capital(to + 1);
        let goes_on = if named {
            capital || (link && next)
        } else {
            !ENDS.contains(&hunt.folded[to].as_str()) && scalar::number(word).is_none()
        };
        if !goes_on && (!is_date || to > from) {
            break;
        }
        to += 1;
        if is_date || !hunt.joined(to - 1) {
            break;
        }
    }
    let begins = hunt.folded[from].as_str();
    (to > from && !words::is_stop(begins)).then_some(from..to)
}

/// Ordinary words. A pattern that accepts one of them identifies no parameter.
const COMMON: [&str; 6] = ["the", "Please", "flight-1", "a", "2", "book"];

/// Settles parameters by words whose form fits only one parameter.
pub fn by_form(hunt: &mut Hunt<'_>) {
    let free: Vec<usize> = (0..hunt.words.len()).filter(|at| !hunt.taken[*at]).collect();
    let mut claims: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, slot) in hunt.slots.iter().enumerate().filter(|(_, slot)| !slot.settled) {
        let Some(fits) = clue(slot) else { continue };
        let mine: Vec<usize> = free.iter().copied().filter(|word| fits(hunt.word(*word))).collect();
        if !mine.is_empty() {
            claims.push((at, mine));
        }
    }
    numbered(hunt, &mut claims);
    for (slot, mine) in &claims {
        let shared = claims.iter().any(|(other, words)| other != slot && words.iter().any(|word| mine.contains(word)));
        let list = matches!(hunt.slots[*slot].shape.kind, Kind::List { .. });
        if shared || (mine.len() > 1 && !list) {
            continue;
        }
        let given: Vec<&str> = mine.iter().map(|word| hunt.word(*word)).collect();
        hunt.claim(*slot, &given.join(", "), mine[0]..mine[mine.len() - 1] + 1);
    }
}

/// Claims a coined word after the noun of a parameter such as `order_id` or `flight_number`: `order #W12`, `flight HAT001`.
fn numbered(hunt: &Hunt<'_>, claims: &mut Vec<(usize, Vec<usize>)>) {
    for (at, slot) in hunt.slots.iter().enumerate().filter(|(_, slot)| !slot.settled && slot.shape.is_free_text()) {
        let [noun @ .., last] = &slot.terms[..] else { continue };
        let kind = ["id", "number", "no", "cod", "key", "ref", "referenc"].contains(&last.as_str());
        if noun.is_empty() || !kind || claims.iter().any(|(known, _)| *known == at) {
            continue;
        }
        let mine = (1..hunt.words.len()).filter(|&word| {
            let before = noun.last().is_some_and(|noun| words::stem(&hunt.folded[word - 1]) == *noun);
            before && !hunt.taken[word] && hunt.word(word).contains(|c: char| c.is_ascii_digit())
        });
        let mine: Vec<usize> = mine.collect();
        if !mine.is_empty() {
            claims.push((at, mine));
        }
    }
}

type Clue = Box<dyn Fn(&str) -> bool>;

/// Returns a test for words that can belong only to this parameter, if there is one.
fn clue(slot: &Slot<'_>) -> Option<Clue> {
    let shape = match &slot.shape.kind {
        Kind::List { item, .. } => item,
        _ => slot.shape,
    };
    let Kind::Text(limits) = &shape.kind else { return None };
    if !shape.allowed.is_empty() {
        return None;
    }
    if let Some(format) = limits.format.as_deref() {
        let known = ["email", "uri", "url", "uuid", "date", "date-time", "time"];
        return known.into_iter().find(|known| *known == format).map(of_format);
    }
    if let Some(pattern) = narrow_pattern(limits) {
        return Some(Box::new(move |word| pattern.is_match(word)));
    }
    let by_name: [(&[&str], &str); 5] = [
        (&["email", "mail"], "email"),
        (&["url", "uri", "link", "websit"], "uri"),
        (&["date", "day", "birthday", "deadlin"], "date"),
        (&["path", "fil", "filename", "filepath", "folder", "directory"], "path"),
        (&["tim"], "time"),
    ];
    let named = by_name.into_iter().find(|(stems, _)| slot.is_named(stems)).map(|(_, format)| format);
    if let Some(format) = named.filter(|format| *format != "time" || shape.examples.is_empty()) {
        return Some(of_format(format));
    }
    let samples = samples(&shape.examples, &shape.description);
    let samples: Vec<String> = samples.iter().filter_map(|sample| form(sample)).collect();
    (!samples.is_empty())
        .then(|| -> Clue { Box::new(move |word| form(word).is_some_and(|form| samples.contains(&form))) })
}

fn of_format(format: &'static str) -> Clue {
    match format {
        "uri" | "url" => Box::new(is_link),
        "path" => Box::new(is_path),
        _ => Box::new(move |word| scalar::has_format(format, word)),
    }
}

fn narrow_pattern(limits: &Text) -> Option<Regex> {
    let pattern = Regex::new(&format!("^(?:{})$", limits.pattern.as_deref()?)).ok()?;
    (!COMMON.iter().any(|word| pattern.is_match(word))).then_some(pattern)
}

fn is_link(word: &str) -> bool {
    (word.starts_with("http://") || word.starts_with("https://")) && scalar::has_format("uri", word)
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let file = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.contains(|c: char| c.is_ascii_alphabetic())
    });
    let folder = word.contains('/') && word.len() > 1 && scalar::date(word).is_none() && word != "and/or";
    (file || folder) && !word.contains("://") && !word.contains('@')
}

/// Returns the examples of the schema, and those that the description quotes after a phrase such as "for example".
fn samples(examples: &[Value], description: &str) -> Vec<String> {
    let mut out: Vec<String> = examples.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    for mark in ["such as ", "like ", "e.g. ", "e.g., ", "for example ", "example: "] {
        for (at, _) in description.match_indices(mark) {
            let rest = &description[at + mark.len()..];
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"' | '`')) else { continue };
            out.extend(rest[1..].split(quote).next().map(str::to_owned));
        }
    }
    out
}

/// Returns the form of a coined word, or `None` for an ordinary word: `#W12` and `#A7` both have `#A9`; `JFK` has `AAA`.
fn form(word: &str) -> Option<String> {
    let letter = |c: char| match c {
        '0'..='9' => '9',
        c if c.is_uppercase() => 'A',
        c if c.is_alphabetic() => 'a',
        other => other,
    };
    if word.contains(char::is_whitespace) {
        return None;
    }
    if !word.is_empty() && word.chars().all(char::is_uppercase) && word.chars().count() > 1 {
        return Some(word.chars().map(letter).collect());
    }
    if !word.contains(|c: char| c.is_ascii_digit()) || !word.contains(|c: char| !c.is_ascii_digit()) {
        return None;
    }
    let mut out = String::new();
    for c in word.chars().map(letter) {
        if !out.ends_with(c) {
            out.push(c);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_made_words() {
        assert_eq!(form("#W0000000"), form("#X1234567"));
        assert_eq!(form("sara_doe_496"), form("ada_love_1"));
        assert_eq!(form("JFK").as_deref(), Some("AAA"));
        assert_eq!(form("hello"), None);
        assert_eq!(form("12"), None);
    }

    #[test]
    fn paths_and_samples() {
        assert!(is_path("notes.txt") && is_path("src/lib.rs") && is_path("/tmp"));
        assert!(!is_path("hello") && !is_path("3.5") && !is_path("https://x.org/a") && !is_path("a@b.org"));
        assert_eq!(samples(&[], "The id, such as '#W0', or e.g. `x`."), ["#W0", "x"]);
    }

    #[test]
    fn only_a_narrow_pattern_identifies() {
        let text = |pattern: &str| Text { pattern: Some(pattern.into()), ..Text::default() };
        assert!(narrow_pattern(&text("^#W[0-9]+$")).is_some());
        assert!(narrow_pattern(&text("^[A-Z]{3}$")).is_some());
        assert!(narrow_pattern(&text("^\\w+$")).is_none());
        assert!(narrow_pattern(&text("(?=x)")).is_none());
    }
}

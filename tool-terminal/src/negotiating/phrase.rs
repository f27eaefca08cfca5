//! Values found by the words around them ("from Paris to Rome", "called demo"), or by their own form, such as addresses and
//! dates.

use std::ops::Range;

use regex::Regex;
use serde_json::Value;

use super::extract::{self, Extraction, Slot};
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
pub fn from_to(extraction: &mut Extraction<'_>) {
    let from = end(extraction, FROM);
    let to = end(extraction, TO);
    let both = extraction.folded.iter().any(|word| word == "from") && extraction.folded.iter().any(|word| word == "to");
    for (word, slot) in [("from", from), ("to", to)] {
        let Some(slot) = slot else { continue };
        // The last "to" is the most likely one: "I want to fly to Rome".
        let places =
            (0..extraction.words.len()).rev().filter(|at| extraction.folded[*at] == word && !extraction.taken[*at]);
        for at in places.collect::<Vec<_>>() {
            let Some(span) = name(extraction, at + 1) else { continue };
            let written = extraction.is_capital(span.start);
            let exact = extraction.slots[slot].exact(extraction.span(span.clone())).is_some();
            let after_from = word == "from" || extraction.folded[..at].iter().any(|known| known == "from");
            if !(written || exact || (both && after_from) || is_spoken(extraction, slot, &span)) {
                continue;
            }
            if extraction.claim(slot, extraction.span(span.clone()), at..span.end) {
                break;
            }
        }
    }
}

/// Returns whether words in lower case can be the start or destination of a journey: "fly from london", but not "I want to fly".
fn is_spoken(extraction: &Extraction<'_>, slot: usize, span: &Range<usize>) -> bool {
    const GOING: &[&str] = &["fly", "go", "travel", "get", "leave", "be", "see", "visit", "start", "come", "pay"];
    let first = extraction.folded[span.start].as_str();
    let verb = words::is_verb(&words::stem(first)) || GOING.contains(&first);
    let slot = &extraction.slots[slot];
    slot.is_like(PLACE) && slot.is_named(&[&FROM[1..], &TO[1..]].concat()) && !verb && !NO_PLACE.contains(&first)
}

/// Claims the name of a month, if one parameter is the number of a month.
pub fn months(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction.sole(|slot| slot.shape.is_month(&slot.pointer)) else { return };
    // "may" is a verb, "May" is not.
    let named = |at: &usize| !extraction.taken[*at] && extraction.is_capital(*at) || extraction.folded[*at].len() > 3;
    let found: Vec<usize> =
        (0..extraction.words.len()).filter(named).filter(|at| scalar::month(extraction.word(*at)).is_some()).collect();
    if let [at] = found[..]
        && let Some(month) = scalar::month(extraction.word(at)).map(Value::from)
        && extraction.slots[slot].shape.check(&month).is_ok()
    {
        let from = at - usize::from(at > 0 && extraction.folded[at - 1] == "in");
        extraction.settle(slot, month, from..at + 1);
    }
}

/// Claims X in `in X`, `at X` or `for X`, if one parameter is a place.
pub fn places(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction
        .sole(|slot| is_open_text(slot) && slot.is_named(PLACE))
        .or_else(|| extraction.sole(|slot| is_open_text(slot) && slot.required && slot.is_like(PLACE)))
    else {
        return;
    };
    for word in ["in", "at", "for", "near"] {
        for at in (0..extraction.words.len())
            .filter(|at| extraction.folded[*at] == word && !extraction.taken[*at])
            .collect::<Vec<_>>()
        {
            let Some(span) = name(extraction, at + 1) else { continue };
            let first = extraction.folded[span.start].clone();
            let odd = NO_PLACE.contains(&first.as_str()) || is_time(&first);
            if odd || extraction.word(span.start).contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            if extraction.claim(slot, extraction.span(span.clone()), at..span.end) {
                return;
            }
        }
    }
}

/// Claims the only name in the sentence, if a place is the only missing text.
pub fn lone_name(extraction: &mut Extraction<'_>) {
    let needed = |slot: &&Slot<'_>| !slot.settled && slot.required && is_open_text(slot);
    let Some(slot) = extraction.sole(|slot| slot.required && is_open_text(slot) && slot.is_like(PLACE)) else { return };
    if extraction.slots.iter().filter(needed).count() != 1 {
        return;
    }
    let begins = |at: &usize| {
        let plain = !words::is_stop(&extraction.folded[*at])
            && !is_time(&extraction.folded[*at])
            && extraction.word(*at).len() > 1;
        extraction.is_capital(*at)
            && plain
            && !extraction.taken[*at]
            && !(extraction.is_capital(*at - 1) && extraction.joined(*at - 1) && *at > 1)
    };
    let names: Vec<usize> = (1..extraction.words.len()).filter(begins).collect();
    if let [at] = names[..]
        && let Some(span) = name(extraction, at)
    {
        extraction.claim(slot, extraction.span(span.clone()), span);
    }
}

/// Returns whether a word (in lower case) names a month or a day.
fn is_time(word: &str) -> bool {
    (word.len() > 3 && scalar::month(word).is_some()) || (word.ends_with("day") && word.len() > 5)
}

/// Reads a text directly after the name of its parameter: `message "Fix it"`, `with label Work`.
pub fn after_name(
    extraction: &mut Extraction<'_>,
    slot: usize,
    from: usize,
    to: usize,
) -> Option<(Value, Range<usize>)> {
    if !is_open_text(&extraction.slots[slot]) {
        return None;
    }
    let start = extraction.words.get(to)?.start;
    let gap = &extraction.text[extraction.words[to - 1].end..start];
    if let Some(quote) = extract::quotes(extraction.text).into_iter().find(|quote| quote.contains(&(start - 1)))
        && gap.trim().chars().count() == 1
    {
        let value = extraction.slots[slot].read(&extraction.text[quote.clone()]).ok()?;
        extraction.take(&quote);
        return Some((value, from..to));
    }
    let with = from > 0 && extraction.folded[from - 1] == "with";
    let span = name(extraction, to).filter(|_| with)?;
    let value = extraction.slots[slot].read(extraction.span(span.clone())).ok()?;
    Some((value, from - 1..span.end))
}

/// Returns whether a parameter is a place or the end of a journey, so that a preposition before its value is not part of it.
pub fn is_place(root: &Shape, pointer: &str) -> bool {
    let extraction = Extraction::new(root, &Value::Null, "");
    let like = |slot: &Slot<'_>| {
        slot.is_like(PLACE) || slot.is_like(&FROM[1..]) || slot.is_like(&TO[1..]) || slot.is_named(&["from", "to"])
    };
    extraction.slots.iter().any(|slot| slot.pointer == pointer && like(slot))
}

/// Claims X in `called X` or `named X`.
pub fn claim_called(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction.sole(|slot| is_open_text(slot) && slot.is_named(NAME)) else { return };
    let Some(at) = extraction.folded.iter().position(|word| word == "called" || word == "named") else { return };
    let Some(word) = extraction.words.get(at + 1).cloned().filter(|_| !extraction.is_taken(at..at + 2)) else { return };
    let quote =
        extract::quotes(extraction.text).into_iter().find(|quote| quote.start <= word.start && word.end <= quote.end);
    let place = quote.unwrap_or(word);
    if extraction.claim(slot, &extraction.text[place.clone()], at..at + 1) {
        extraction.take(&place);
    }
}

/// Claims the only text in quotes, if one required parameter accepts any text.
pub fn claim_quoted(extraction: &mut Extraction<'_>) {
    let quotes = extract::quotes(extraction.text);
    let [quote] = &quotes[..] else { return };
    let touched = extraction
        .words
        .iter()
        .zip(&extraction.taken)
        .any(|(word, taken)| *taken && word.start < quote.end && quote.start < word.end);
    let Some(slot) = extraction.sole(|slot| slot.required && slot.shape.is_free_text()).filter(|_| !touched) else {
        return;
    };
    if let Some(inner) = answer::unquoted(&extraction.text[quote.clone()])
        && extraction.slots[slot].shape.check(&Value::from(inner)).is_ok()
    {
        extraction.take(quote);
        extraction.settle(slot, Value::from(inner), 0..0);
    }
}

/// Claims X in `search for X` or `look up X`, if one required parameter is a search query. Claims a whole question, if one
/// required parameter is a question.
pub fn subject(extraction: &mut Extraction<'_>) {
    if extraction.text.ends_with('?')
        && !extraction.taken.contains(&true)
        && let Some(slot) =
            extraction.sole(|slot| slot.required && slot.shape.is_free_text() && slot.is_named(&["question"]))
        && extraction.claim(slot, extraction.text, 0..extraction.words.len())
    {
        return;
    }
    let end = extraction.words.len();
    if let Some(slot) = extraction.sole(|slot| slot.required && slot.shape.is_free_text() && slot.is_named(QUERY))
        && let Some(at) = extraction.folded.iter().position(|word| word == "for" || word == "about")
        && at + 1 < end
        && !extraction.is_taken(at..end)
    {
        extraction.claim(slot, extraction.span(at + 1..end), at..end);
    }
}

/// Returns the only parameter for this end of a journey or period, by its name, or else by its description.
fn end(extraction: &Extraction<'_>, stems: &[&str]) -> Option<usize> {
    extraction.sole(|slot| is_text(slot) && slot.is_named(stems)).or_else(|| {
        let none_named = extraction.slots.iter().all(|slot| !slot.is_named(stems));
        // The first stem is a preposition, which nearly every description contains.
        extraction.sole(|slot| is_text(slot) && slot.is_like(&stems[1..])).filter(|_| none_named)
    })
}

fn is_text(slot: &Slot<'_>) -> bool {
    matches!(slot.shape.kind, Kind::Text(_)) || !slot.shape.allowed.is_empty()
}

fn is_open_text(slot: &Slot<'_>) -> bool {
    slot.shape.is_free_text() && slot.shape.format().is_none()
}

/// Returns the words of the name that begins at `from`: all capitalized words, or words up to one of [`ENDS`].
fn name(extraction: &Extraction<'_>, from: usize) -> Option<Range<usize>> {
    if from >= extraction.words.len() || extraction.taken[from] || !extraction.joined(from - 1) {
        return None;
    }
    let is_date = scalar::has_format("date", extraction.word(from));
    let named = extraction.is_capital(from);
    let mut to = from;
    while to < extraction.words.len() && to - from < if named { 5 } else { 3 } && !extraction.taken[to] {
        let word = extraction.word(to);
        let capital = extraction.is_capital(to);
        let link =
            to > from && matches!(extraction.folded[to].as_str(), "de" | "la" | "of" | "del" | "am" | "upon" | "le");
        let next = to + 1 < extraction.words.len() && extraction.is_capital(to + 1);
        let goes_on = if named {
            capital || (link && next)
        } else {
            !ENDS.contains(&extraction.folded[to].as_str()) && scalar::number(word).is_none()
        };
        if !goes_on && (!is_date || to > from) {
            break;
        }
        to += 1;
        if is_date || !extraction.joined(to - 1) {
            break;
        }
    }
    let begins = extraction.folded[from].as_str();
    (to > from && !words::is_stop(begins)).then_some(from..to)
}

/// Ordinary words. A pattern that accepts one of them identifies no parameter.
const COMMON: [&str; 6] = ["the", "Please", "flight-1", "a", "2", "book"];

/// Settles parameters by words whose form fits only one parameter.
pub fn by_form(extraction: &mut Extraction<'_>) {
    let free: Vec<usize> = (0..extraction.words.len()).filter(|at| !extraction.taken[*at]).collect();
    let mut claims: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, slot) in extraction.slots.iter().enumerate().filter(|(_, slot)| !slot.settled) {
        let Some(fits) = clue(slot) else { continue };
        let mine: Vec<usize> = free.iter().copied().filter(|word| fits(extraction.word(*word))).collect();
        if !mine.is_empty() {
            claims.push((at, mine));
        }
    }
    claim_numbered(extraction, &mut claims);
    for (slot, mine) in &claims {
        let shared = claims.iter().any(|(other, words)| other != slot && words.iter().any(|word| mine.contains(word)));
        let list = matches!(extraction.slots[*slot].shape.kind, Kind::List { .. });
        if shared || (mine.len() > 1 && !list) {
            continue;
        }
        let given: Vec<&str> = mine.iter().map(|word| extraction.word(*word)).collect();
        extraction.claim(*slot, &given.join(", "), mine[0]..mine[mine.len() - 1] + 1);
    }
}

/// Claims a coined word after the noun of a parameter such as `order_id` or `flight_number`: `order #W12`, `flight HAT001`.
fn claim_numbered(extraction: &Extraction<'_>, claims: &mut Vec<(usize, Vec<usize>)>) {
    for (at, slot) in extraction.slots.iter().enumerate().filter(|(_, slot)| !slot.settled && slot.shape.is_free_text())
    {
        let [noun @ .., last] = &slot.terms[..] else { continue };
        let kind = ["id", "number", "no", "cod", "key", "ref", "referenc"].contains(&last.as_str());
        if noun.is_empty() || !kind || claims.iter().any(|(known, _)| *known == at) {
            continue;
        }
        let mine = (1..extraction.words.len()).filter(|&word| {
            let before = noun.last().is_some_and(|noun| words::stem(&extraction.folded[word - 1]) == *noun);
            before && !extraction.taken[word] && extraction.word(word).contains(|c: char| c.is_ascii_digit())
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

//! Values found by the words around them ("from Paris to Rome", "called demo"), or by their own form, such as addresses and
//! dates.

use std::ops::Range;

use regex::Regex;
use serde_json::Value;

use super::extract::{self, Extraction, Slot};
use super::shape::{Kind, Shape, Text};
use super::{answer, scalar, words};

const FROM_STEMS: &[&str] = &["from", "origin", "departur", "depart", "sourc", "start"];
const TO_STEMS: &[&str] = &["to", "destination", "arrival", "arriv", "target", "end"];
const PLACE_STEMS: &[&str] = &["city", "location", "plac", "town", "country", "region", "vill", "vicinity"];
const QUERY_STEMS: &[&str] = &["query", "q", "search", "term", "keyword", "topic"];
const NAME_STEMS: &[&str] = &["nam", "titl"];

/// Words that end a name that is written in lower case.
const NAME_ENDS: &[&str] = &[
    "after", "and", "as", "at", "because", "before", "but", "by", "for", "from", "in", "is", "now", "of", "on", "or",
    "please", "right", "so", "thanks", "then", "to", "today", "tomorrow", "tonight", "using", "via", "when", "with",
];

/// Words that do not begin the name of a place.
const NOT_PLACES: &[&str] = &[
    "a", "an", "case", "degrees", "detail", "english", "general", "her", "his", "it", "mind", "my", "order", "our",
    "that", "the", "their", "this", "these", "those", "which", "your", "me", "you", "us", "them", "him",
];

/// Claims the places in `from X to Y`. Claims `from X` or `to Y` alone if the place is capitalized or an exact value, or if the
/// parameter is a place.
pub fn claim_from_to(extraction: &mut Extraction<'_>) {
    let from = find_journey_end(extraction, FROM_STEMS);
    let to = find_journey_end(extraction, TO_STEMS);
    let has_both =
        extraction.folded.iter().any(|word| word == "from") && extraction.folded.iter().any(|word| word == "to");
    for (word, slot) in [("from", from), ("to", to)] {
        let Some(slot) = slot else { continue };
        // The last "to" is the most likely one: "I want to fly to Rome".
        let places =
            (0..extraction.words.len()).rev().filter(|at| extraction.folded[*at] == word && !extraction.taken[*at]);
        for at in places.collect::<Vec<_>>() {
            let Some(span) = find_name(extraction, at + 1) else { continue };
            let is_capital = extraction.is_capital(span.start);
            let is_exact = extraction.slots[slot].read_exact(extraction.span(span.clone())).is_some();
            let is_after_from = word == "from" || extraction.folded[..at].iter().any(|known| known == "from");
            if !(is_capital || is_exact || (has_both && is_after_from) || may_be_journey_end(extraction, slot, &span)) {
                continue;
            }
            if extraction.claim(slot, extraction.span(span.clone()), at..span.end) {
                break;
            }
        }
    }
}

/// Returns whether words in lower case can be the start or destination of a journey: "fly from london", but not "I want to fly".
fn may_be_journey_end(extraction: &Extraction<'_>, slot: usize, span: &Range<usize>) -> bool {
    const OTHER_VERBS: &[&str] = &["fly", "go", "travel", "get", "leave", "be", "see", "visit", "start", "come", "pay"];
    let first = extraction.folded[span.start].as_str();
    let is_verb = words::is_verb(&words::stem(first)) || OTHER_VERBS.contains(&first);
    let slot = &extraction.slots[slot];
    slot.is_like(PLACE_STEMS)
        && slot.is_named(&[&FROM_STEMS[1..], &TO_STEMS[1..]].concat())
        && !is_verb
        && !NOT_PLACES.contains(&first)
}

/// Claims the name of a month, if one parameter is the number of a month.
pub fn claim_month(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction.find_only(|slot| slot.shape.is_month(&slot.pointer)) else { return };
    // "may" is a verb, and "May" is a month.
    let may_be_month =
        |at: &usize| !extraction.taken[*at] && (extraction.is_capital(*at) || extraction.folded[*at].len() > 3);
    let found: Vec<usize> = (0..extraction.words.len())
        .filter(may_be_month)
        .filter(|at| scalar::parse_month(extraction.word(*at)).is_some())
        .collect();
    if let [at] = found[..]
        && let Some(month) = scalar::parse_month(extraction.word(at)).map(Value::from)
        && extraction.slots[slot].shape.check(&month).is_ok()
    {
        let from = at - usize::from(at > 0 && extraction.folded[at - 1] == "in");
        extraction.store_value(slot, month, from..at + 1);
    }
}

/// Claims X in `in X`, `at X`, `for X` or `near X`, if one parameter is a place.
pub fn claim_places(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction
        .find_only(|slot| is_open_text(slot) && slot.is_named(PLACE_STEMS))
        .or_else(|| extraction.find_only(|slot| is_open_text(slot) && slot.is_required && slot.is_like(PLACE_STEMS)))
    else {
        return;
    };
    for word in ["in", "at", "for", "near"] {
        for at in (0..extraction.words.len())
            .filter(|at| extraction.folded[*at] == word && !extraction.taken[*at])
            .collect::<Vec<_>>()
        {
            let Some(span) = find_name(extraction, at + 1) else { continue };
            let first = extraction.folded[span.start].clone();
            let is_no_place = NOT_PLACES.contains(&first.as_str()) || is_month_or_day(&first);
            if is_no_place || extraction.word(span.start).contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            if extraction.claim(slot, extraction.span(span.clone()), at..span.end) {
                return;
            }
        }
    }
}

/// Claims the only name in the sentence, if a place is the only missing text.
pub fn claim_lone_name(extraction: &mut Extraction<'_>) {
    let is_missing = |slot: &&Slot<'_>| !slot.has_value && slot.is_required && is_open_text(slot);
    let Some(slot) = extraction.find_only(|slot| slot.is_required && is_open_text(slot) && slot.is_like(PLACE_STEMS))
    else {
        return;
    };
    if extraction.slots.iter().filter(is_missing).count() != 1 {
        return;
    }
    let may_begin_name = |at: &usize| {
        let is_plain = !words::is_stop_word(&extraction.folded[*at])
            && !is_month_or_day(&extraction.folded[*at])
            && extraction.word(*at).len() > 1;
        extraction.is_capital(*at)
            && is_plain
            && !extraction.taken[*at]
            && !(extraction.is_capital(*at - 1) && extraction.is_joined(*at - 1) && *at > 1)
    };
    let names: Vec<usize> = (1..extraction.words.len()).filter(may_begin_name).collect();
    if let [at] = names[..]
        && let Some(span) = find_name(extraction, at)
    {
        extraction.claim(slot, extraction.span(span.clone()), span);
    }
}

/// Returns whether a word (in lower case) names a month or a day.
fn is_month_or_day(word: &str) -> bool {
    (word.len() > 3 && scalar::parse_month(word).is_some()) || (word.ends_with("day") && word.len() > 5)
}

/// Reads a text directly after the name of its parameter: `message "Fix it"`, `with label Work`.
pub fn read_after_name(
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
    if let Some(quote) = extract::find_quotes(extraction.text).into_iter().find(|quote| quote.contains(&(start - 1)))
        && gap.trim().chars().count() == 1
    {
        let value = extraction.slots[slot].read(&extraction.text[quote.clone()]).ok()?;
        extraction.mark_taken(&quote);
        return Some((value, from..to));
    }
    let is_after_with = from > 0 && extraction.folded[from - 1] == "with";
    let span = find_name(extraction, to).filter(|_| is_after_with)?;
    let value = extraction.slots[slot].read(extraction.span(span.clone())).ok()?;
    Some((value, from - 1..span.end))
}

/// Returns whether a parameter is a place or the end of a journey, so that a preposition before its value is not part of it.
pub fn is_place(root: &Shape, pointer: &str) -> bool {
    let extraction = Extraction::new(root, &Value::Null, "");
    let is_like_place = |slot: &Slot<'_>| {
        slot.is_like(PLACE_STEMS)
            || slot.is_like(&FROM_STEMS[1..])
            || slot.is_like(&TO_STEMS[1..])
            || slot.is_named(&["from", "to"])
    };
    extraction.slots.iter().any(|slot| slot.pointer == pointer && is_like_place(slot))
}

/// Claims X in `called X` or `named X`.
pub fn claim_called(extraction: &mut Extraction<'_>) {
    let Some(slot) = extraction.find_only(|slot| is_open_text(slot) && slot.is_named(NAME_STEMS)) else { return };
    let Some(at) = extraction.folded.iter().position(|word| word == "called" || word == "named") else { return };
    let Some(word) = extraction.words.get(at + 1).cloned().filter(|_| !extraction.is_taken(at..at + 2)) else { return };
    let quote = extract::find_quotes(extraction.text)
        .into_iter()
        .find(|quote| quote.start <= word.start && word.end <= quote.end);
    let place = quote.unwrap_or(word);
    if extraction.claim(slot, &extraction.text[place.clone()], at..at + 1) {
        extraction.mark_taken(&place);
    }
}

/// Claims the only text in quotes, if one required parameter accepts any text.
pub fn claim_quoted(extraction: &mut Extraction<'_>) {
    let quotes = extract::find_quotes(extraction.text);
    let [quote] = &quotes[..] else { return };
    let is_touched = extraction
        .words
        .iter()
        .zip(&extraction.taken)
        .any(|(word, taken)| *taken && word.start < quote.end && quote.start < word.end);
    let Some(slot) = extraction.find_only(|slot| slot.is_required && slot.shape.is_free_text()).filter(|_| !is_touched)
    else {
        return;
    };
    if let Some(inner) = answer::unquote(&extraction.text[quote.clone()])
        && extraction.slots[slot].shape.check(&Value::from(inner)).is_ok()
    {
        extraction.mark_taken(quote);
        extraction.store_value(slot, Value::from(inner), 0..0);
    }
}

/// Claims the words after `for` or `about`, as in `search for X`, if one required parameter is a search query. Claims a whole
/// question, if one required parameter is a question.
pub fn claim_subject(extraction: &mut Extraction<'_>) {
    if extraction.text.ends_with('?')
        && !extraction.taken.contains(&true)
        && let Some(slot) =
            extraction.find_only(|slot| slot.is_required && slot.shape.is_free_text() && slot.is_named(&["question"]))
        && extraction.claim(slot, extraction.text, 0..extraction.words.len())
    {
        return;
    }
    let end = extraction.words.len();
    if let Some(slot) =
        extraction.find_only(|slot| slot.is_required && slot.shape.is_free_text() && slot.is_named(QUERY_STEMS))
        && let Some(at) = extraction.folded.iter().position(|word| word == "for" || word == "about")
        && at + 1 < end
        && !extraction.is_taken(at..end)
    {
        extraction.claim(slot, extraction.span(at + 1..end), at..end);
    }
}

/// Returns the only parameter for this end of a journey or period, by its name, or else by its description.
fn find_journey_end(extraction: &Extraction<'_>, stems: &[&str]) -> Option<usize> {
    extraction.find_only(|slot| is_text(slot) && slot.is_named(stems)).or_else(|| {
        let none_named = extraction.slots.iter().all(|slot| !slot.is_named(stems));
        // The first stem is a preposition, which nearly every description contains.
        extraction.find_only(|slot| is_text(slot) && slot.is_like(&stems[1..])).filter(|_| none_named)
    })
}

fn is_text(slot: &Slot<'_>) -> bool {
    matches!(slot.shape.kind, Kind::Text(_)) || !slot.shape.allowed.is_empty()
}

fn is_open_text(slot: &Slot<'_>) -> bool {
    slot.shape.is_free_text() && slot.shape.format().is_none()
}

/// Returns the words of the name that begins at `from`: a date, up to five capitalized words, or up to three words before
/// one of [`NAME_ENDS`] or a number.
fn find_name(extraction: &Extraction<'_>, from: usize) -> Option<Range<usize>> {
    if from >= extraction.words.len() || extraction.taken[from] || !extraction.is_joined(from - 1) {
        return None;
    }
    let is_date = scalar::has_format("date", extraction.word(from));
    let is_name = extraction.is_capital(from);
    let mut to = from;
    while to < extraction.words.len() && to - from < if is_name { 5 } else { 3 } && !extraction.taken[to] {
        let word = extraction.word(to);
        let is_capital = extraction.is_capital(to);
        let is_linking_word =
            to > from && matches!(extraction.folded[to].as_str(), "de" | "la" | "of" | "del" | "am" | "upon" | "le");
        let is_next_capital = to + 1 < extraction.words.len() && extraction.is_capital(to + 1);
        let may_continue = if is_name {
            is_capital || (is_linking_word && is_next_capital)
        } else {
            !NAME_ENDS.contains(&extraction.folded[to].as_str()) && scalar::parse_number(word).is_none()
        };
        if !may_continue && (!is_date || to > from) {
            break;
        }
        to += 1;
        if is_date || !extraction.is_joined(to - 1) {
            break;
        }
    }
    let begins = extraction.folded[from].as_str();
    (to > from && !words::is_stop_word(begins)).then_some(from..to)
}

/// Ordinary words. A pattern that accepts one of them identifies no parameter.
const COMMON_WORDS: [&str; 6] = ["the", "Please", "flight-1", "a", "2", "book"];

/// Claims words whose form fits only one parameter.
pub fn claim_by_form(extraction: &mut Extraction<'_>) {
    let free: Vec<usize> = (0..extraction.words.len()).filter(|at| !extraction.taken[*at]).collect();
    let mut claims: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, slot) in extraction.slots.iter().enumerate().filter(|(_, slot)| !slot.has_value) {
        let Some(fits) = find_word_test(slot) else { continue };
        let mine: Vec<usize> = free.iter().copied().filter(|word| fits(extraction.word(*word))).collect();
        if !mine.is_empty() {
            claims.push((at, mine));
        }
    }
    add_numbered_claims(extraction, &mut claims);
    for (slot, mine) in &claims {
        let is_shared =
            claims.iter().any(|(other, words)| other != slot && words.iter().any(|word| mine.contains(word)));
        let is_list = matches!(extraction.slots[*slot].shape.kind, Kind::List { .. });
        if is_shared || (mine.len() > 1 && !is_list) {
            continue;
        }
        let given: Vec<&str> = mine.iter().map(|word| extraction.word(*word)).collect();
        extraction.claim(*slot, &given.join(", "), mine[0]..mine[mine.len() - 1] + 1);
    }
}

/// Adds claims of words with digits after the noun of a parameter such as `order_id` or `flight_number`: `order #W12`.
fn add_numbered_claims(extraction: &Extraction<'_>, claims: &mut Vec<(usize, Vec<usize>)>) {
    for (at, slot) in
        extraction.slots.iter().enumerate().filter(|(_, slot)| !slot.has_value && slot.shape.is_free_text())
    {
        let [noun @ .., last] = &slot.name_stems[..] else { continue };
        let is_id_word = ["id", "number", "no", "cod", "key", "ref", "referenc"].contains(&last.as_str());
        if noun.is_empty() || !is_id_word || claims.iter().any(|(known, _)| *known == at) {
            continue;
        }
        let mine = (1..extraction.words.len()).filter(|&word| {
            let is_after_noun = noun.last().is_some_and(|noun| words::stem(&extraction.folded[word - 1]) == *noun);
            is_after_noun && !extraction.taken[word] && extraction.word(word).contains(|c: char| c.is_ascii_digit())
        });
        let mine: Vec<usize> = mine.collect();
        if !mine.is_empty() {
            claims.push((at, mine));
        }
    }
}

type WordTest = Box<dyn Fn(&str) -> bool>;

/// Returns a test for words that can belong only to this parameter, if there is one.
fn find_word_test(slot: &Slot<'_>) -> Option<WordTest> {
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
        return known.into_iter().find(|known| *known == format).map(make_format_test);
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
        return Some(make_format_test(format));
    }
    let samples = find_samples(&shape.examples, &shape.description);
    let samples: Vec<String> = samples.iter().filter_map(|sample| word_form(sample)).collect();
    (!samples.is_empty())
        .then(|| -> WordTest { Box::new(move |word| word_form(word).is_some_and(|form| samples.contains(&form))) })
}

fn make_format_test(format: &'static str) -> WordTest {
    match format {
        "uri" | "url" => Box::new(is_link),
        "path" => Box::new(is_path),
        _ => Box::new(move |word| scalar::has_format(format, word)),
    }
}

fn narrow_pattern(limits: &Text) -> Option<Regex> {
    let pattern = Regex::new(&format!("^(?:{})$", limits.pattern.as_deref()?)).ok()?;
    (!COMMON_WORDS.iter().any(|word| pattern.is_match(word))).then_some(pattern)
}

fn is_link(word: &str) -> bool {
    (word.starts_with("http://") || word.starts_with("https://")) && scalar::has_format("uri", word)
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let is_file = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.contains(|c: char| c.is_ascii_alphabetic())
    });
    let is_folder = word.contains('/') && word.len() > 1 && scalar::parse_date(word).is_none() && word != "and/or";
    (is_file || is_folder) && !word.contains("://") && !word.contains('@')
}

/// Returns the examples of the schema, and those that the description quotes after a phrase such as "for example".
fn find_samples(examples: &[Value], description: &str) -> Vec<String> {
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
fn word_form(word: &str) -> Option<String> {
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
        assert_eq!(word_form("#W0000000"), word_form("#X1234567"));
        assert_eq!(word_form("sara_doe_496"), word_form("ada_love_1"));
        assert_eq!(word_form("JFK").as_deref(), Some("AAA"));
        assert_eq!(word_form("hello"), None);
        assert_eq!(word_form("12"), None);
    }

    #[test]
    fn paths_and_samples() {
        assert!(is_path("notes.txt") && is_path("src/lib.rs") && is_path("/tmp"));
        assert!(!is_path("hello") && !is_path("3.5") && !is_path("https://x.org/a") && !is_path("a@b.org"));
        assert_eq!(find_samples(&[], "The id, such as '#W0', or e.g. `x`."), ["#W0", "x"]);
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

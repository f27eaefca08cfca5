//! Words whose form tells what they are: addresses, dates, paths, ids.

use std::ops::Range;

use regex::Regex;
use serde_json::Value;

use super::hunt::{Hunt, Slot};
use super::shape::{Kind, Text};
use super::{calendar, scalar, words};

/// Words of every kind of sentence; a pattern that accepts one of them tells nothing.
const COMMON: [&str; 6] = ["the", "Please", "flight-1", "a", "2", "book"];

/// Settles parameters by words whose form fits one parameter only.
pub(super) fn telling(hunt: &mut Hunt<'_>) {
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
        let given: Vec<String> = mine.iter().map(|word| hunt.word(*word).to_owned()).collect();
        if let Ok(value) = hunt.slots[*slot].read(&given.join(", ")) {
            let range: Range<usize> = mine[0]..mine[mine.len() - 1] + 1;
            hunt.settle(*slot, value, range);
        }
    }
}

/// `order #W12`, `flight HAT001`: a made word after the noun of a parameter called `order_id` or `flight_number`.
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

/// The test for words that can only be meant for a parameter, where there is one.
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
        let test: fn(&str) -> bool = match format {
            "email" => scalar::is_email,
            "uri" | "url" => is_link,
            "uuid" => scalar::is_uuid,
            "date" => calendar::is_date,
            "date-time" => calendar::is_date_time,
            "time" => calendar::is_time,
            _ => return None,
        };
        return Some(Box::new(test));
    }
    if let Some(pattern) = telling_pattern(limits) {
        return Some(Box::new(move |word| pattern.is_match(word)));
    }
    let samples: Vec<String> =
        samples(&shape.examples, &shape.description).iter().filter_map(|sample| form(sample)).collect();
    let test: Option<fn(&str) -> bool> = if slot.is_named(&["email", "mail"]) {
        Some(scalar::is_email)
    } else if slot.is_named(&["url", "uri", "link", "websit"]) {
        Some(is_link)
    } else if slot.is_named(&["date", "day", "birthday", "deadlin"]) {
        Some(calendar::is_date)
    } else if slot.is_named(&["path", "fil", "filename", "filepath", "folder", "directory"]) {
        Some(is_path)
    } else if slot.is_named(&["tim"]) && shape.examples.is_empty() {
        Some(calendar::is_time)
    } else {
        None
    };
    match test {
        Some(test) => Some(Box::new(test)),
        None if samples.is_empty() => None,
        None => Some(Box::new(move |word| form(word).is_some_and(|form| samples.contains(&form)))),
    }
}

fn telling_pattern(limits: &Text) -> Option<Regex> {
    let pattern = Regex::new(&format!("^(?:{})$", limits.pattern.as_deref()?)).ok()?;
    (!COMMON.iter().any(|word| pattern.is_match(word))).then_some(pattern)
}

fn is_link(word: &str) -> bool {
    (word.starts_with("http://") || word.starts_with("https://")) && scalar::is_uri(word)
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let file = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.contains(|c: char| c.is_ascii_alphabetic())
    });
    let folder = word.contains('/') && word.len() > 1 && calendar::date(word).is_none() && word != "and/or";
    (file || folder) && !word.contains("://") && !word.contains('@')
}

/// Example values: those of the schema, and what a description quotes after "such as" and the like.
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

/// The form of a word that looks made rather than spoken: `#W12` and `#A7` are both `#A9`; `JFK` is `AAA`.
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
    fn only_a_narrow_pattern_tells() {
        let text = |pattern: &str| Text { pattern: Some(pattern.into()), ..Text::default() };
        assert!(telling_pattern(&text("^#W[0-9]+$")).is_some());
        assert!(telling_pattern(&text("^[A-Z]{3}$")).is_some());
        assert!(telling_pattern(&text("^\\w+$")).is_none());
        assert!(telling_pattern(&text("(?=x)")).is_none());
    }
}

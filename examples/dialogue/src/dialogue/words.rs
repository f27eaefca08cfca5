//! Normalization of words, which makes sentences, names and descriptions comparable.

use std::ops::Range;

/// Words without meaning for the search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for",
    "from", "give", "hello", "help", "hey", "hi", "how", "i", "i'd", "i'm", "if", "in", "into", "is", "it", "it's",
    "its", "just", "kindly", "let", "let's", "like", "may", "me", "my", "need", "now", "of", "off", "ok", "okay", "on",
    "one", "or", "our", "out", "please", "shall", "should", "so", "some", "that", "the", "their", "them", "then",
    "there", "these", "this", "those", "to", "today", "tomorrow", "tool", "us", "use", "using", "via", "want", "was",
    "we", "were", "what", "what's", "whats", "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// Verbs that people and authors of tools use as synonyms, one meaning per row.
const VERB_SYNONYMS: &[&[&str]] = &[
    &["delete", "remove", "erase", "drop", "destroy"],
    &["get", "fetch", "read", "retrieve", "return", "show", "display", "tell", "view", "check", "print"],
    &["list", "show", "display", "enumerate"],
    &["create", "add", "make", "new", "insert"],
    &["search", "find", "look", "query", "lookup"],
    &["update", "change", "edit", "modify", "set"],
    &["send", "mail", "post"],
    &["book", "reserve", "booking", "reservation"],
    &["move", "rename"],
    &["calculate", "compute"],
];

/// Other synonyms.
const NOUN_SYNONYMS: &[&[&str]] = &[&["weather", "forecast"], &["flight", "fly"]];

/// Returns whether the word, in lower case, does not help to find the meaning.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Returns the text in lower case. Splits `camelCase`. Each run of characters other than letters and digits becomes one space,
/// except an apostrophe in a word.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let is_joined = c == '\'' && before.is_alphanumeric();
        if c.is_alphanumeric() || is_joined {
            if c.is_uppercase() && before.is_lowercase() {
                out.push(' ');
            }
            out.extend(c.to_lowercase());
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
        before = c;
    }
    out.trim().to_owned()
}

/// Returns a name for people: `first_name` and `firstName` become `first name`; acronyms stay as they are.
pub fn humanize(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut chars = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if matches!(c, '_' | '-' | ' ' | '.') {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if c.is_uppercase() && !before.is_uppercase() {
            if before.is_alphanumeric() {
                out.push(' ');
            }
            let is_acronym = chars.peek().is_none_or(|next| !next.is_lowercase());
            if is_acronym { out.push(c) } else { out.extend(c.to_lowercase()) }
        } else {
            out.push(c);
        }
        before = c;
    }
    out.trim().to_owned()
}

/// Returns the text with its first letter in upper case.
pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns the stems of a text's meaningful words, in order.
pub fn tokens(text: &str) -> Vec<String> {
    fold(text).split(' ').filter(|word| !word.is_empty() && !is_stop_word(word)).map(stem).collect()
}

/// Returns the stems of all synonyms of a stem, including the stem itself.
pub fn synonyms(token: &str) -> impl Iterator<Item = String> {
    let rows = VERB_SYNONYMS.iter().chain(NOUN_SYNONYMS).filter(move |row| row.iter().any(|word| stem(word) == token));
    rows.flat_map(|row| row.iter().map(|word| stem(word)))
}

/// Returns whether a stem belongs to a verb that is common in tool names.
pub fn is_verb(token: &str) -> bool {
    VERB_SYNONYMS.iter().any(|row| row.iter().any(|word| stem(word) == token))
}

/// Returns the word without plural, `-ing` and `-ed`. Stemming is light, so that different words stay different.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    let mut stem = word.strip_suffix("'s").unwrap_or(word).to_owned();
    if stem.len() > 4 && stem.ends_with("ies") {
        stem.truncate(stem.len() - 3);
        stem.push('y');
    } else if stem.len() > 3
        && stem.ends_with('s')
        && !stem.ends_with("ss")
        && !stem.ends_with("us")
        && !stem.ends_with("is")
    {
        stem.truncate(stem.len() - 1);
    }
    for suffix in ["ing", "ed"] {
        if stem.len() > suffix.len() + 2 && stem.ends_with(suffix) {
            let bare = &stem[..stem.len() - suffix.len()];
            if bare.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
                stem.truncate(bare.len());
                let tail = stem.as_bytes();
                let is_doubled =
                    tail.len() > 3 && tail[tail.len() - 1] == tail[tail.len() - 2] && !stem.ends_with("ll");
                if is_doubled && !stem.ends_with("ss") {
                    stem.pop();
                }
                break;
            }
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

/// Returns the ranges of a text's words: runs without space and without surrounding punctuation.
pub fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for run in text.split(char::is_whitespace) {
        let bare = run.trim_start_matches(['(', '[', '"', '\'', '“', '‘', ',', ';']);
        let from = at + run.len() - bare.len();
        let bare = bare.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '”', '’']);
        if !bare.is_empty() {
            out.push(from..from + bare.len());
        }
        // Every whitespace character separates, and it may be longer than one byte.
        at += run.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    out
}

/// Returns the first sentence in the first line of a description, without its final full stop or colon.
pub fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let line = text.split("\n\n").next().unwrap_or(text).trim();
    let line = line.split('\n').next().unwrap_or(line);
    let end = line
        .match_indices(". ")
        .map(|(at, _)| at)
        .find(|&at| !line[..at].ends_with("e.g") && !line[..at].ends_with("i.e") && !line[..at].ends_with("etc"))
        .unwrap_or(line.len());
    line[..end].trim().trim_end_matches(['.', ':'])
}

/// Returns the text cut to `most` characters, with an ellipsis if it was cut.
pub fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("please") && !is_stop_word("weather"));
    }

    #[test]
    fn folds_and_humanises_names() {
        assert_eq!(fold("get_weather: Now!"), "get weather now");
        assert_eq!(fold("maxResults"), "max results");
        assert_eq!(humanize("first_name"), "first name");
        assert_eq!(humanize("userID"), "user ID");
        assert_eq!(humanize("pullNumber"), "pull number");
        assert_eq!(humanize("IATA_code"), "IATA code");
        assert_eq!(humanize("Departure"), "departure");
    }

    #[test]
    fn stems_bring_forms_of_a_word_together() {
        for forms in [&["delete", "deleting", "deleted", "deletes"][..], &["query", "queries"], &["file", "files"]] {
            assert!(forms.iter().all(|form| stem(form) == stem(forms[0])), "{forms:?}");
        }
        assert_ne!(stem("status"), stem("state"));
        assert_eq!(stem("string"), "string");
        assert_eq!(stem("getting"), stem("get"));
    }

    #[test]
    fn words_keep_what_belongs_to_them() {
        let text = "mail bob@x.com,\u{2003}(2026-10-01)!  \"hi\"";
        let found: Vec<_> = word_ranges(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["mail", "bob@x.com", "2026-10-01", "hi"]);
    }

    #[test]
    fn a_first_sentence_ends_at_its_stop() {
        assert_eq!(first_sentence("Read a file. DEPRECATED: use x."), "Read a file");
        assert_eq!(first_sentence("A code, e.g. JFK. More"), "A code, e.g. JFK");
        assert_eq!(first_sentence("  \n"), "");
        assert_eq!(shorten("äöüabc", 4), "äöü…");
    }
}

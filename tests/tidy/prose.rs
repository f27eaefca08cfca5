//! The rules for prose that a program can check: CONTRIBUTING.md, "Prose".

use std::fs;

use super::{CRATES, docs, files, report, root};

/// The folders of tests, examples and benches.
const TESTS: [&str; 11] = [
    "benches",
    "examples",
    "tests",
    "tool-derive/tests",
    "tool-models/tests",
    "tool-restate/tests",
    "tool-run/tests",
    "tool-runtime/tests",
    "tool-server/tests",
    "tool-temporal/tests",
    "tool-schema/tests",
];

/// Words that no doc comment begins with: its first sentence says what the item does or is.
const STARTS: [&str; 13] = [
    "What ",
    "Who ",
    "Whom ",
    "Whether ",
    "Whoever ",
    "Whatever ",
    "With what ",
    "How ",
    "Which ",
    "Where ",
    "The same",
    "Somebody ",
    "Nobody ",
];

/// Phrases that name no actor: a value is returned, an error reported, a message received.
const VERBS: [&str; 4] = ["is ", "are ", "was ", "were "];
const PARTICIPLES: [&str; 3] = ["told", "said", "heard"];

/// Violations that are left: of [`STARTS`], and of [`VERBS`] with [`PARTICIPLES`]. These numbers may only fall.
const LEFT: [(&str, usize, usize); 12] = [
    ("tool-derive", 0, 0),
    ("tool-models", 0, 0),
    ("tool-restate", 0, 0),
    ("tool-run", 0, 0),
    ("tool-runtime", 0, 0),
    ("tool-schema", 0, 0),
    ("tool-server", 0, 0),
    ("tool-stores", 0, 0),
    ("tool-temporal", 0, 0),
    ("tool-terminal", 0, 0),
    ("guide", 0, 3),
    ("tests", 6, 0),
];

/// Returns whether a text begins with one of [`STARTS`].
fn is_start(text: &str) -> bool {
    STARTS.iter().any(|start| text.trim_start().starts_with(start))
}

/// Returns the number of doc comments in a source that begin with one of [`STARTS`]. `/** … */` counts, too.
fn count_starts(text: &str) -> usize {
    let mut count = text.split("/**").skip(1).filter(|rest| is_start(rest)).count();
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let (false, Some(doc)) = (inside, doc) {
            count += usize::from(is_start(doc));
        }
        inside = doc.is_some();
    }
    count
}

/// Returns the number of places in a text where something "is told", "was said" or the like.
fn count_passives(text: &str) -> usize {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_alone = |at: usize| !words[..at].ends_with(char::is_alphanumeric);
    VERBS
        .iter()
        .flat_map(|verb| words.match_indices(verb))
        .filter(|(at, verb)| {
            let rest = &words[at + verb.len()..];
            is_alone(*at)
                && PARTICIPLES
                    .iter()
                    .any(|word| rest.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
        })
        .count()
}

#[test]
fn prose_gets_no_worse() {
    let mut found: Vec<(&str, usize, usize)> = CRATES
        .into_iter()
        .map(|name| {
            let sources = files(&[&format!("{name}/src")]);
            let pages = docs::of_items(name);
            let starts = sources.iter().map(|(_, text)| count_starts(text)).sum::<usize>();
            let starts = starts + pages.iter().filter(|text| is_start(text)).count();
            let texts = sources.iter().map(|(_, text)| text).chain(&pages);
            (name, starts, texts.map(|text| count_passives(text)).sum())
        })
        .collect();
    let pages = docs::guide().into_iter().map(|(_, text)| text);
    let others =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| fs::read_to_string(root().join(name)).unwrap());
    // CONTRIBUTING.md quotes what it forbids.
    found.push(("guide", 0, pages.chain(others).map(|text| count_passives(&text)).sum()));
    let tests = files(&TESTS);
    // This file quotes what it forbids.
    let tests = tests.iter().filter(|(path, _)| !path.ends_with("tidy/prose.rs"));
    let (starts, passives) = tests
        .fold((0, 0), |(starts, passives), (_, text)| (starts + count_starts(text), passives + count_passives(text)));
    found.push(("tests", starts, passives));
    let mut broken = Vec::new();
    for ((name, starts, passives), (of, most_starts, most_passives)) in found.into_iter().zip(LEFT) {
        assert_eq!(name, of, "the table is in the order of the crates");
        if starts > most_starts || passives > most_passives {
            broken.push(format!(
                "{name}: {starts} doc comments begin with one of {STARTS:?}, and {passives} places have a form of \"is told\"; \
                 at most {most_starts} and {most_passives} are allowed"
            ));
        }
    }
    report(&broken);
}

#[test]
fn violations_are_counted() {
    assert_eq!(
        count_starts("/// What it is.\n/// Who knows.\nfn a() {}\n    /// Returns it.\n    /// Whether so.\n"),
        1
    );
    assert_eq!(count_starts("//! Whether it rains.\n\n/// The same, again.\n"), 2);
    assert_eq!(count_passives("it is\n    told that this was said; this told, he is toldish"), 2);
}

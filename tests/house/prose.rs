//! The house rules for prose that a program can check: CONTRIBUTING.md, "Prose".

use std::fs;

use super::{CRATES, docs, files, report, root};

/// Words that no doc comment begins with: its first sentence says what the item does or is.
const STARTS: [&str; 8] = ["What ", "Who ", "Whom ", "Whether ", "Whoever ", "The same", "Somebody ", "Nobody "];

/// Phrases that name no actor: a value is returned, an error reported, a message received.
const VERBS: [&str; 4] = ["is ", "are ", "was ", "were "];
const PARTICIPLES: [&str; 3] = ["told", "said", "heard"];

/// Violations that are left: of [`STARTS`], and of [`VERBS`] with [`PARTICIPLES`]. These numbers may only fall.
const LEFT: [(&str, usize, usize); 9] = [
    ("tool-derive", 0, 2),
    ("tool-models", 0, 0),
    ("tool-run", 0, 1),
    ("tool-runtime", 0, 1),
    ("tool-schema", 0, 0),
    ("tool-server", 0, 3),
    ("tool-stores", 0, 0),
    ("tool-terminal", 0, 0),
    ("guide", 0, 3),
];

/// Returns the number of doc comments in a source that begin with one of [`STARTS`].
fn count_starts(text: &str) -> usize {
    let mut count = 0;
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let (false, Some(doc)) = (inside, doc) {
            count += usize::from(STARTS.iter().any(|start| doc.trim_start().starts_with(start)));
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
            let starts = sources.iter().map(|(_, text)| count_starts(text)).sum();
            (name, starts, sources.iter().map(|(_, text)| count_passives(text)).sum())
        })
        .collect();
    let pages = docs::guide().into_iter().map(|(_, text)| text);
    let others =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| fs::read_to_string(root().join(name)).unwrap());
    // CONTRIBUTING.md quotes what it forbids.
    found.push(("guide", 0, pages.chain(others).map(|text| count_passives(&text)).sum()));
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

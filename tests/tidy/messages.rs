//! The rule for assertion messages: CONTRIBUTING.md, "Prose". A message is a sentence with a noun as its subject.

use proc_macro2::{TokenStream, TokenTree};

use super::{CRATES, files};

/// The assertions, each with the number of its arguments before the message.
const ASSERTIONS: [(&str, usize); 6] = [
    ("assert", 1),
    ("assert_eq", 2),
    ("assert_ne", 2),
    ("prop_assert", 1),
    ("prop_assert_eq", 2),
    ("prop_assert_ne", 2),
];

/// Words that begin a clause in place of a noun.
const STARTS: [&str; 9] =
    ["what ", "who ", "whom ", "whoever ", "whatever ", "whether ", "which ", "where ", "with what "];

/// Messages that are left. This number may only fall.
const LEFT: usize = 5;

/// Returns the source of the message among the arguments of an assertion, if it is a string.
fn message(arguments: TokenStream, before: usize) -> Option<String> {
    let mut commas = 0;
    for token in arguments {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => commas += 1,
            TokenTree::Literal(literal) if commas == before => return Some(literal.to_string()),
            _ if commas == before => return None,
            _ => {}
        }
    }
    None
}

/// Adds the messages that begin with one of [`STARTS`] to `found`.
fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        collect(group.stream(), found);
        let [.., TokenTree::Ident(name), TokenTree::Punct(mark)] = &tokens[..at] else { continue };
        let before =
            ASSERTIONS.iter().find(|(known, _)| mark.as_char() == '!' && name == known).map(|(_, before)| *before);
        let text = before.and_then(|before| message(group.stream(), before));
        let is_clause = |text: &String| {
            STARTS.iter().any(|start| text.strip_prefix('"').is_some_and(|text| text.starts_with(start)))
        };
        found.extend(text.filter(is_clause));
    }
}

#[test]
fn messages_have_nouns_as_subjects() {
    let mut found = Vec::new();
    for (path, text) in files(&[&CRATES[..], &["examples", "tests", "benches"]].concat()) {
        // A few compile-fail cases are not even tokens.
        let Ok(tokens) = text.parse() else { continue };
        let mut messages = Vec::new();
        collect(tokens, &mut messages);
        found.extend(messages.into_iter().map(|message| format!("{}: {message}", path.display())));
    }
    assert!(found.len() <= LEFT, "{} messages begin with one of {STARTS:?}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn messages_without_a_subject_are_found() {
    let mut found = Vec::new();
    let source = r#"fn a() {
        assert!(x[what, who], "what is over is deleted");
        { assert_eq!(a, "what it is", "whoever asks: {}", 1); }
        assert_ne!(a, b, "a nonce is spent once");
        prop_assert!(a, "{b}");
        print!("who ", "who ");
    }"#;
    collect(source.parse().unwrap(), &mut found);
    assert_eq!(found, ["\"what is over is deleted\"", "\"whoever asks: {}\""]);
}

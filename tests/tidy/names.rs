//! The rule for names: CONTRIBUTING.md, "Prose". It holds for identifiers as for sentences.

use proc_macro2::{TokenStream, TokenTree};

use super::{CRATES, files, report};

/// Words that are part of no identifier: a value is returned, an error reported, a message received, a call interrupted.
const FORBIDDEN: [&str; 4] = ["told", "said", "heard", "obligation"];

/// Words that are part of no constant: a maximum is named `MAX_…`.
const FORBIDDEN_IN_CONSTANTS: [&str; 3] = ["LONGEST", "LARGEST", "HIGHEST"];

/// Adds the forbidden identifiers of `tokens` to `found`. Comments and strings are not identifiers.
fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let is_forbidden = |part: &str| {
                    FORBIDDEN.contains(&part.to_lowercase().as_str()) || FORBIDDEN_IN_CONSTANTS.contains(&part)
                };
                if name.split('_').any(is_forbidden) {
                    found.push(name);
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[test]
fn identifiers_use_plain_words() {
    let mut broken = Vec::new();
    for (path, text) in files(&[&CRATES[..], &["examples", "tests", "benches"]].concat()) {
        // A few compile-fail cases are not even tokens.
        let Ok(tokens) = text.parse() else { continue };
        let mut found = Vec::new();
        collect(tokens, &mut found);
        if !found.is_empty() {
            broken.push(format!(
                "{}: {}: use none of {FORBIDDEN:?} in a name, and none of {FORBIDDEN_IN_CONSTANTS:?} in a constant",
                path.display(),
                found.join(", ")
            ));
        }
    }
    report(&broken);
}

#[test]
fn forbidden_identifiers_are_found() {
    let mut found = Vec::new();
    collect("fn was_told(Said: u8) { retold(heard.len(), \"said\") } // told".parse().unwrap(), &mut found);
    collect("const LONGEST_WAIT: u8 = longest(MAX_WAIT);".parse().unwrap(), &mut found);
    assert_eq!(found, ["was_told", "Said", "heard", "LONGEST_WAIT"]);
}

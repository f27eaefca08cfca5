//! A search for names that an expression uses and does not bind itself.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};

/// Returns the place where an expression uses the value `name`.
///
/// Returns `None` for an expression with `|`, `match` or `let`, because the expression may bind the name itself.
pub fn find_free_name(expr: TokenStream, name: &Ident) -> Option<Span> {
    if binds(expr.clone()) { None } else { find(expr, name) }
}

fn binds(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "match" || word == "let",
        TokenTree::Punct(punct) => punct.as_char() == '|',
        TokenTree::Group(group) => binds(group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// Returns the place of the word `name`, unless it is part of a path, a field, a call or a macro.
fn find(tokens: TokenStream, name: &Ident) -> Option<Span> {
    let tokens = Vec::from_iter(tokens);
    let is_punct = |at: Option<usize>, punctuation: &str| matches!(at.and_then(|at| tokens.get(at)), Some(TokenTree::Punct(punct)) if punctuation.contains(punct.as_char()));
    tokens.iter().enumerate().find_map(|(at, token)| match token {
        TokenTree::Group(group) => find(group.stream(), name),
        TokenTree::Ident(word) if word == name => {
            let is_path_or_field = is_punct(at.checked_sub(1), ".:") && !is_punct(at.checked_sub(2), ".");
            let is_called = matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
            (!is_path_or_field && !is_called && !is_punct(Some(at + 1), ":!")).then(|| word.span())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::find_free_name;

    fn finds(expr: &str) -> bool {
        find_free_name(expr.parse().expect("an expression"), &format_ident!("city")).is_some()
    }

    #[test]
    fn uses_are_found() {
        let uses = [
            "city",
            "&city",
            "city.len()",
            "[0, city]",
            "format!(\"{}|\", city)",
            "String::from(city)",
            "if city.is_empty() { 1 } else { 2 }",
            "(1, -city)",
            "0..city",
            "Place { city }",
            "\"|\".to_owned() + city",
        ];
        for expr in uses {
            assert!(finds(expr), "{expr}");
        }
    }

    #[test]
    fn other_names_are_not() {
        let others = [
            "city()",
            "city::NAME",
            "self.city",
            "place.city()",
            "\"city\"",
            "|city: u8| city",
            "match x { city => city }",
            "if let Some(city) = find() { city } else { 0 }",
            "{ let city = 1; city }",
            "city!()",
            "Place { city: 1 }",
        ];
        for expr in others {
            assert!(!finds(expr), "{expr}");
        }
    }
}

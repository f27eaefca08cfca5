//! What in a type is borrowed, or not written out: found in its tokens, so also deep inside it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

/// The first reference in `ty`, or lifetime that is not `'static`. With `statics`, `&'static T` is no reference.
pub(crate) fn borrowed(ty: impl ToTokens, statics: bool) -> Option<TokenStream> {
    let mut tokens = ty.into_token_stream().into_iter();
    while let Some(token) = tokens.next() {
        let rest = tokens.clone();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '&' && !(statics && is_static(rest.clone())) => {
                return Some([token].into_iter().chain(until_comma(rest)).collect());
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => match tokens.next() {
                Some(name) if name.to_string() != "static" => return Some([token, name].into_iter().collect()),
                _ => {}
            },
            TokenTree::Group(group) => {
                if let Some(found) = borrowed(group.stream(), statics) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// The first `impl Trait` in `ty`.
pub(crate) fn unnamed(ty: impl ToTokens) -> Option<TokenStream> {
    let mut tokens = ty.into_token_stream().into_iter();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) if word == "impl" => {
                return Some([token].into_iter().chain(until_comma(tokens)).collect());
            }
            TokenTree::Group(group) => {
                if let Some(found) = unnamed(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_static(mut tokens: impl Iterator<Item = TokenTree>) -> bool {
    let is = |token: Option<TokenTree>, text: &str| token.is_some_and(|token| token.to_string() == text);
    is(tokens.next(), "'") && is(tokens.next(), "static")
}

fn until_comma(tokens: impl Iterator<Item = TokenTree>) -> impl Iterator<Item = TokenTree> {
    tokens.take_while(|token| !matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | '>')))
}

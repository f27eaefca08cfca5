//! What in a type is borrowed, or not written out: found in its tokens, so also deep inside it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Type;

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
            // A `Cow` borrows, also where its lifetime is left out.
            TokenTree::Ident(word) if word == "Cow" && !names_lifetime(rest.clone()) => {
                return Some([token].into_iter().chain(until_comma(rest)).collect());
            }
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

/// Returns whether `ty` is a value of a size that is not known: `str`, `[T]`, `dyn Trait`.
pub(crate) fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

/// Returns whether `ty` is a reference to what looks like the context of a call.
pub(crate) fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    matches!(&*reference.elem, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
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

/// Returns whether what is in the brackets that follow begins with a lifetime; where there are none, it is no type that borrows.
fn names_lifetime(mut tokens: impl Iterator<Item = TokenTree>) -> bool {
    let is = |token: Option<TokenTree>, text: &str| token.is_some_and(|token| token.to_string() == text);
    !is(tokens.next(), "<") || is(tokens.next(), "'")
}

fn until_comma(tokens: impl Iterator<Item = TokenTree>) -> impl Iterator<Item = TokenTree> {
    tokens.take_while(|token| !matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | '>')))
}

//! `#[serde(…)]`, as far as a name on the wire depends on it. Serde reports what cannot be read.

use proc_macro2::{Span, TokenTree};
use syn::{Attribute, LitStr, Meta, Token, meta::ParseNestedMeta, parse::ParseBuffer, token::Paren};

/// Which way a name is for, where the two differ: `rename(serialize = "…", deserialize = "…")`.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Serialize,
    Deserialize,
}

/// The text of `#[serde(key = "…")]`.
pub(crate) fn text(attrs: &[Attribute], key: &str, way: Way) -> Option<LitStr> {
    let way = match way {
        Way::Serialize => "serialize",
        Way::Deserialize => "deserialize",
    };
    let mut found = None;
    each(attrs, |meta| {
        let is_meant = meta.path.is_ident(key);
        if meta.input.peek(Token![=]) {
            let value = meta.value()?;
            if let Some(Ok(text)) = is_meant.then(|| value.fork().parse::<LitStr>()) {
                found = Some(text);
            }
            value.parse::<syn::Expr>()?;
        } else if meta.input.peek(Paren) {
            meta.parse_nested_meta(|inner| {
                let text = inner.value().and_then(ParseBuffer::parse::<LitStr>)?;
                if is_meant && inner.path.is_ident(way) {
                    found = Some(text);
                }
                Ok(())
            })?;
        }
        Ok(())
    });
    found
}

/// The words that attributes called `name` begin their entries with, and where.
pub(crate) fn words(attrs: &[Attribute], name: &str) -> Vec<(String, Span)> {
    let mut words = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(name)) {
        let Meta::List(list) = &attr.meta else { continue };
        let mut starts = true;
        for token in list.tokens.clone() {
            match token {
                TokenTree::Ident(word) if starts => {
                    words.push((word.to_string(), word.span()));
                    starts = false;
                }
                TokenTree::Punct(punct) => starts = punct.as_char() == ',',
                _ => {}
            }
        }
    }
    words
}

/// Returns whether one of `words` is given: `#[serde(word)]`.
pub(crate) fn says(attrs: &[Attribute], words: &[&str]) -> bool {
    let mut found = false;
    each(attrs, |meta| {
        found |= words.iter().any(|word| meta.path.is_ident(word));
        if meta.input.peek(Token![=]) {
            meta.value()?.parse::<syn::Expr>()?;
        } else if meta.input.peek(Paren) {
            meta.parse_nested_meta(|inner| inner.value()?.parse::<LitStr>().map(drop))?;
        }
        Ok(())
    });
    found
}

fn each(attrs: &[Attribute], mut look: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(&mut look);
    }
}

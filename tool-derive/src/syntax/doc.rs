//! Doc comments as descriptions.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// A description: a text, or tokens that make one at compile time (`include_str!`).
#[derive(Clone)]
pub(crate) enum Doc {
    Text(String),
    Tokens(TokenStream),
}

impl Doc {
    /// The doc comments among `attrs`, with the one space that follows `///` taken off each line.
    pub(crate) fn of(attrs: &[Attribute]) -> Option<Self> {
        let values: Vec<&Expr> = attrs
            .iter()
            .filter_map(|attr| match &attr.meta {
                Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
                _ => None,
            })
            .collect();
        let lines: Option<Vec<String>> = values.iter().map(|value| literal(value)).collect();
        match lines {
            Some(lines) => {
                let text = lines.join("\n").trim().to_owned();
                (!text.is_empty()).then_some(Self::Text(text))
            }
            None => Some(Self::Tokens(quote!(::core::concat!(#(#values),*)))),
        }
    }
}

impl ToTokens for Doc {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Tokens(inner) => inner.to_tokens(tokens),
        }
    }
}

fn literal(value: &Expr) -> Option<String> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else { return None };
    let text = text.value();
    let strip = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
    Some(text.split('\n').map(strip).collect::<Vec<_>>().join("\n"))
}

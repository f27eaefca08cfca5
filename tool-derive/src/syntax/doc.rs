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
                let text = reflow(&lines.join("\n"));
                (!text.is_empty()).then_some(Self::Text(text))
            }
            None => {
                let lines =
                    values.iter().map(|value| literal(value).map_or_else(|| quote!(#value), |text| quote!(#text)));
                let lines = lines.enumerate().map(|(index, line)| if index == 0 { line } else { quote!("\n", #line) });
                Some(Self::Tokens(quote!(::core::concat!(#(#lines),*))))
            }
        }
    }

    /// The value of `description = …`.
    pub(crate) fn given(value: &Expr) -> Option<Self> {
        match value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                (!text.value().trim().is_empty()).then(|| Self::Text(text.value()))
            }
            other => Some(Self::Tokens(quote!(#other))),
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

/// Joins the lines of a paragraph: where they break is the editor's business. Lists, tables, quotes, code and blank lines
/// stay as they are.
fn reflow(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for line in text.trim().lines() {
        let fence = line.trim_start().starts_with("```");
        let begins = line.starts_with([' ', '\t', '-', '*', '+', '#', '>', '|'])
            || line.starts_with(|c: char| c.is_ascii_digit());
        let broken = out.is_empty() || out.ends_with('\n') || line.is_empty() || in_code || fence || begins;
        if !out.is_empty() {
            out.push(if broken || out.ends_with("```") { '\n' } else { ' ' });
        }
        out.push_str(line);
        in_code ^= fence;
    }
    out
}

fn literal(value: &Expr) -> Option<String> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else { return None };
    let text = text.value();
    let strip = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
    Some(text.split('\n').map(strip).collect::<Vec<_>>().join("\n"))
}

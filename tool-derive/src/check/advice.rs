//! What is not wrong and could be better.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, ExprClosure, Pat, spanned::Spanned as _};

use crate::{
    diag::text::advice::Advice,
    model::{Arg, Tool},
    syntax::{doc::Doc, values::Approval},
};

/// How many characters of a description every provider takes.
const MOST_CHARACTERS: usize = 1024;

/// What could be better, and where; without what is allowed.
pub(crate) fn advice(tool: &Tool) -> Vec<(Span, Advice)> {
    let mut found = Vec::new();
    if is_long(tool.description.as_ref()) {
        let given = tool.options.description.as_ref().map(syn::spanned::Spanned::span);
        found.push((given.unwrap_or_else(|| tool.marker.span()), Advice::LongDescription));
    }
    if let Some(Approval::When(Expr::Closure(closure))) = tool.options.approval.as_ref().map(|approval| &approval.value)
        && let Some(span) = ignored(closure)
    {
        found.push((span, Advice::IgnoredArguments));
    }
    let inside = tool.variants().flat_map(|(_, variant)| variant.args());
    for arg in tool.args().chain(inside) {
        parameter(arg, &mut found);
    }
    found.retain(|(_, advice)| !tool.options.allow.contains(advice));
    found
}

/// A secret is nothing that the model reads about, and the tag of a variant describes itself.
fn parameter(arg: &Arg, found: &mut Vec<(Span, Advice)>) {
    if arg.attrs.secret.is_some() || arg.tag.is_some() {
        return;
    }
    if arg.doc.is_none() {
        found.push((arg.ident.span(), Advice::Undescribed));
    } else if is_long(arg.doc.as_ref()) {
        found.push((arg.ident.span(), Advice::LongDescription));
    }
}

fn is_long(doc: Option<&Doc>) -> bool {
    matches!(doc, Some(Doc::Text(text)) if text.chars().count() > MOST_CHARACTERS)
}

/// The argument that a predicate does not look at.
fn ignored(predicate: &ExprClosure) -> Option<Span> {
    let pat = predicate.inputs.first()?;
    let pat = if let Pat::Type(typed) = pat { &*typed.pat } else { pat };
    match pat {
        Pat::Wild(wild) => Some(wild.span()),
        // Of one that is not marked so, the compiler says that it is not used.
        Pat::Ident(pat)
            if pat.ident.to_string().starts_with('_') && !mentions(predicate.body.to_token_stream(), &pat.ident) =>
        {
            Some(pat.ident.span())
        }
        _ => None,
    }
}

fn mentions(tokens: TokenStream, name: &proc_macro2::Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        // An argument may be named inside the text of a `format!`.
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Punct(_) => false,
    })
}

//! Advice: declarations that are valid and could be better.

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::{Expr, ExprClosure, Pat, spanned::Spanned as _};

use crate::declaration::{Body, NestedInput, Param, ToolDef};
use crate::diag::text::Advice;
use crate::syntax::attribute::Description;

/// The maximum number of characters of a description that every provider accepts.
const MAX_CHARACTERS: usize = 1024;

/// Returns advice about a tool, each with its place, except for the kinds that the tool's `allow` turns off.
pub fn of_tool(tool: &ToolDef) -> Vec<(Span, Advice)> {
    let mut found = Vec::new();
    if is_too_long(tool.head.description.as_ref()) {
        let given = tool.options.description.as_ref().map(syn::spanned::Spanned::span);
        found.push((given.unwrap_or_else(|| tool.head.ident.span()), Advice::LONG_DESCRIPTION));
    }
    if let Some(Expr::Closure(closure)) = tool.approval_predicate()
        && let Some(span) = find_ignored_argument(closure)
    {
        found.push((span, Advice::IGNORED_ARGUMENTS));
    }
    if let Body::Function(function) = &tool.body
        && tool.options.timeout.is_some()
        && tool.options.blocking.is_none()
        && !(function.is_async || function.is_stream)
    {
        found.push((tool.head.ident.span(), Advice::ENDLESS));
    }
    found.extend(tool.all_fields().filter_map(of_parameter));
    found.retain(|(_, advice)| !tool.options.allow.contains(advice));
    found
}

/// Returns advice about a nested input, except for the kinds that its `allow` turns off.
pub fn of_input(input: &NestedInput) -> Vec<(Span, Advice)> {
    let mut found = Vec::new();
    if is_too_long(input.head.description.as_ref()) {
        found.push((input.head.ident.span(), Advice::LONG_DESCRIPTION));
    }
    found.extend(input.params.fields.iter().filter_map(of_parameter));
    found.retain(|(_, advice)| !input.allow.contains(advice));
    found
}

/// Returns advice about a parameter, or `None` for a secret, because no model sees a secret.
fn of_parameter(param: &Param) -> Option<(Span, Advice)> {
    if param.is_secret() {
        None
    } else if param.description.is_none() {
        Some((param.ident.span(), Advice::UNDESCRIBED))
    } else {
        is_too_long(param.description.as_ref()).then(|| (param.ident.span(), Advice::LONG_DESCRIPTION))
    }
}

fn is_too_long(description: Option<&Description>) -> bool {
    matches!(description, Some(Description::Text(text)) if text.chars().count() > MAX_CHARACTERS)
}

/// Returns the place of the argument that a predicate ignores.
fn find_ignored_argument(predicate: &ExprClosure) -> Option<Span> {
    let pat = predicate.inputs.first()?;
    let pat = if let Pat::Type(typed) = pat { &*typed.pat } else { pat };
    match pat {
        Pat::Wild(wild) => Some(wild.span()),
        // The compiler reports an unused argument without the underscore.
        Pat::Ident(pat)
            if pat.ident.to_string().starts_with('_')
                && !predicate.body.to_token_stream().to_string().contains(&pat.ident.to_string()) =>
        {
            Some(pat.ident.span())
        }
        _ => None,
    }
}

//! Recognizes the runtime's attributes, reports misplaced ones, and reads descriptions from doc comments.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, spanned::Spanned as _};

use crate::diag::{Errors, nearest, text};

/// The runtime's attributes on parameters, which the macro removes from the item.
const PARAMETER_ATTRIBUTES: &[&str] = &["arg", "state", "derived", "context", "dynamic"];

/// The compiler's own attributes that may be on a parameter.
const BUILT_IN_ATTRIBUTES: &[&str] = &["allow", "cfg", "cfg_attr", "deny", "doc", "expect", "forbid", "warn"];

/// Attributes of other crates that have an effect on a field, but none on a parameter.
const FIELD_ATTRIBUTES: &[&str] = &["serde", "schemars", "validate", "garde"];

/// Returns whether `attr` is one of the runtime's attributes on parameters.
pub fn is_parameter_attribute(attr: &Attribute) -> bool {
    PARAMETER_ATTRIBUTES.iter().any(|name| attr.path().is_ident(name))
}

/// Returns whether `attr` holds a list of the runtime's options.
pub fn has_option_list(attr: &Attribute) -> bool {
    const LISTS: &[&str] = &["arg", "dynamic", "dynamic_input", "provide", "calls"];
    LISTS.iter().any(|name| attr.path().is_ident(name))
}

/// Returns an error message if `attr` has no effect on an entry of a list. `cfg` has been resolved before, or is passed on.
pub fn find_entry_misuse(attr: &Attribute) -> Option<String> {
    let word = attr.path().get_ident().map(Ident::to_string).unwrap_or_default();
    let is_known = BUILT_IN_ATTRIBUTES.contains(&&*word) && !matches!(attr.meta, Meta::Path(_));
    (!is_known).then(|| text::attribute_of_entry(&attr.path().to_token_stream().to_string().replace(' ', "")))
}

/// Returns whether `attr` sets the level of a lint.
pub fn is_lint_level(attr: &Attribute) -> bool {
    ["allow", "deny", "expect", "forbid", "warn"].iter().any(|name| attr.path().is_ident(name))
}

/// Returns an error message if an attribute looks like a misspelt one of the runtime, or has no effect on a parameter.
pub fn find_misuse(attr: &Attribute) -> Option<String> {
    let word = attr.path().get_ident().map(Ident::to_string)?;
    if BUILT_IN_ATTRIBUTES.contains(&&*word) || is_parameter_attribute(attr) {
        return None;
    }
    if FIELD_ATTRIBUTES.contains(&&*word) {
        return Some(text::attribute_of_fields(&word));
    }
    let meant = match &*word {
        "ctx" | "cx" => Some("context"),
        "param" | "parameter" | "tool" | "field" => Some("arg"),
        "app" | "inject" | "deps" | "from_ref" => Some("state"),
        word => nearest(word, PARAMETER_ATTRIBUTES),
    };
    meant.map(|meant| text::unknown_attribute(&word, meant))
}

/// Returns whether the macro must remove `attr`, an attribute of a parameter, from the item.
pub fn must_be_removed(attr: &Attribute) -> bool {
    is_parameter_attribute(attr) || find_misuse(attr).is_some()
}

/// Removes attributes that belong on a parameter, or that make the item a tool twice, and reports them.
pub fn remove_misplaced(attrs: &mut Vec<Attribute>, errors: &mut Errors) {
    attrs.retain(|attr| {
        if is_tool(attr) {
            errors.over(attr.path(), text::TOOL_TWICE);
            return false;
        }
        if is_parameter_attribute(attr) && !matches!(attr.meta, Meta::NameValue(_)) {
            errors.at(attr.path().span(), text::on_a_parameter(&attr.path().segments[0].ident.to_string()));
            return false;
        }
        true
    });
}

/// Returns whether `attr` is `#[tool]` or `#[tool_runtime::tool]`.
fn is_tool(attr: &Attribute) -> bool {
    let words: Vec<String> = attr.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
    words == ["tool"] || words == ["tool_runtime", "tool"]
}

/// A description: a text, or tokens that produce a text at compile time, such as `include_str!` or a constant.
#[derive(Clone)]
pub enum Description {
    Text(String),
    Tokens(TokenStream),
}

impl Description {
    /// Returns the text of the doc comments among `attrs`, with the lines of each paragraph joined; `None` if it is empty.
    pub fn from_attrs(attrs: &[Attribute]) -> Option<Self> {
        let values: Vec<&Expr> = attrs
            .iter()
            .filter_map(|attr| match &attr.meta {
                Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
                _ => None,
            })
            .collect();
        let lines: Option<Vec<String>> = values.iter().map(|value| doc_text(value)).collect();
        match lines {
            Some(lines) => {
                let text = reflow(&lines.join("\n"));
                (!text.is_empty()).then_some(Self::Text(text))
            }
            None => {
                let lines =
                    values.iter().map(|value| doc_text(value).map_or_else(|| quote!(#value), |text| quote!(#text)));
                let lines = lines.enumerate().map(|(index, line)| if index == 0 { line } else { quote!("\n", #line) });
                Some(Self::Tokens(quote!(::core::concat!(#(#lines),*))))
            }
        }
    }

    /// Returns the value of `description = …`, or `None` if it is a blank literal.
    pub fn from_expr(value: &Expr) -> Option<Self> {
        match value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                (!text.value().trim().is_empty()).then(|| Self::Text(text.value()))
            }
            other => Some(Self::Tokens(quote!(#other))),
        }
    }
}

impl ToTokens for Description {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Tokens(inner) => inner.to_tokens(tokens),
        }
    }
}

/// Joins the lines of each paragraph. Headings, lists, tables, quotes, code and blank lines stay as they are.
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

fn doc_text(value: &Expr) -> Option<String> {
    let Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) = value else { return None };
    let mut text = literal.value();
    if text.contains('*') && is_block_comment(literal.span(), &text) {
        text = without_stars(&text);
    }
    let strip = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
    Some(text.split('\n').map(strip).collect::<Vec<_>>().join("\n"))
}

/// Returns whether the text of a description is that of a comment `/** … */`.
fn is_block_comment(span: Span, text: &str) -> bool {
    // Where the source is unknown, a text of several lines is one: each `///` is an attribute of its own.
    span.source_text().map_or_else(|| text.contains('\n'), |source| source.starts_with("/*"))
}

/// Returns the text of a comment `/** … */` without the stars at the beginnings of its lines, if all have one in the same column.
/// rustdoc does the same. The first line has a star only if the comment begins with one.
fn without_stars(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_blank = |line: &&str| line.trim().is_empty();
    let skipped = usize::from(lines.len() > 1 && !lines[0].trim_start().starts_with('*'));
    let begin = skipped + lines[skipped..].iter().take_while(|line| is_blank(line)).count();
    let end = lines.len() - lines[begin..].iter().rev().take_while(|line| is_blank(line)).count();
    let column = |line: &&str| line.find(|c| c != ' ' && c != '\t').filter(|at| line[*at..].starts_with('*'));
    let Some(first) = lines[begin..end].first().and_then(column) else { return text.to_owned() };
    if !lines[begin..end].iter().all(|line| column(line) == Some(first)) {
        return text.to_owned();
    }
    let inner = lines[begin..end].iter().map(|line| &line[first + 1..]);
    lines[..begin].iter().copied().chain(inner).collect::<Vec<_>>().join("\n")
}

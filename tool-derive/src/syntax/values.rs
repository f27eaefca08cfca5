//! The values of options that are more than a text or a flag.

use proc_macro2::Span;
use syn::{
    Expr, ExprArray, ExprLit, Ident, Lit, LitInt, LitStr, ext::IdentExt, parse::ParseStream, punctuated::Punctuated,
};

use super::grammar::{Keys, each, inside, options, read, value, value_or};
use crate::diag::{
    Errors,
    text::{self, advice::Advice},
};

/// A value, and where it was written.
#[derive(Clone)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// The rule for who approves a call.
pub(crate) enum Approval {
    Never,
    Always,
    When(Expr),
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    ReadOnly,
    Write,
    Destructive,
}

options! {
    /// The texts that a person sees of a tool.
    Ui, UI_OPTIONS:
    "icon" => icon: Option<LitStr> = |key, input, _| value(key, input, "icon = \"…\"");
    "running" => running: Option<LitStr> = |key, input, _| value(key, input, "running = \"…\"");
    "done" => done: Option<LitStr> = |key, input, _| value(key, input, "done = \"…\"");
    "tooltip" => tooltip: Option<LitStr> = |key, input, _| value(key, input, "tooltip = \"…\"");
}

/// Every option of `ui`.
const UI: Keys<Ui> = Keys { of: "ui", known: UI_OPTIONS, many: "" };

/// `= never`, `= always` or `= when(predicate)`.
pub(crate) fn approval(key: &Ident, input: ParseStream<'_>) -> syn::Result<Approval> {
    let word = word(key, input, "approval = always", text::APPROVAL)?;
    match word.to_string().as_str() {
        "never" | "always" if !input.is_empty() && !input.peek(syn::Token![,]) => {
            Err(syn::Error::new(word.span(), text::APPROVAL))
        }
        "never" => Ok(Approval::Never),
        "always" => Ok(Approval::Always),
        "when" => {
            let content = inside(&word, input, "when(is_expensive)")?;
            syn::parse2(content).map(Approval::When).map_err(|_| syn::Error::new(word.span(), text::APPROVAL))
        }
        other => {
            let message = text::unknown_word(other, text::APPROVAL, &["never", "always", "when"]);
            Err(syn::Error::new(word.span(), message))
        }
    }
}

/// `= read_only`, `= write` or `= destructive`.
pub(crate) fn effect(key: &Ident, input: ParseStream<'_>) -> syn::Result<Effect> {
    let word = word(key, input, "effect = read_only", text::EFFECT)?;
    match word.to_string().as_str() {
        "read_only" => Ok(Effect::ReadOnly),
        "write" => Ok(Effect::Write),
        "destructive" => Ok(Effect::Destructive),
        other => {
            let message = text::unknown_word(other, text::EFFECT, &["read_only", "write", "destructive"]);
            Err(syn::Error::new(word.span(), message))
        }
    }
}

fn word(key: &Ident, input: ParseStream<'_>, example: &str, expected: &str) -> syn::Result<Ident> {
    let word: Word = value_or(key, input, example, expected)?;
    Ok(word.0)
}

/// Any word, keywords included.
struct Word(Ident);

impl syn::parse::Parse for Word {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Ident::parse_any).map(Self)
    }
}

/// `= "30s"`, in milliseconds.
pub(crate) fn duration(key: &Ident, input: ParseStream<'_>) -> syn::Result<u64> {
    let time: LitStr = value_or(key, input, "timeout = \"30s\"", text::DURATION)?;
    millis(&time.value()).ok_or_else(|| syn::Error::new(time.span(), text::DURATION))
}

/// `"500ms"`, `"30s"`, `"5m"`, `"1h"` in milliseconds; `None` for anything else, zero included.
fn millis(time: &str) -> Option<u64> {
    let digits = time.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.trim_end().parse().ok()?;
    let unit = match &time[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|millis| *millis > 0)
}

/// `= 2`.
pub(crate) fn count(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Spanned<u32>> {
    let count: LitInt = value(key, input, example)?;
    let value = count.base10_parse().map_err(|_| syn::Error::new(count.span(), text::expected(example)))?;
    Ok(Spanned { value, span: key.span() })
}

/// `= ["1", "2"]`.
pub(crate) fn strings(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Vec<LitStr>> {
    let list: Expr = value(key, input, example)?;
    let wrong = || syn::Error::new_spanned(&list, text::expected(example));
    let Expr::Array(ExprArray { elems, .. }) = &list else { return Err(wrong()) };
    let elems: &Punctuated<Expr, syn::Token![,]> = elems;
    elems
        .iter()
        .map(|elem| match elem {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
            _ => Err(wrong()),
        })
        .collect()
}

/// `(icon = "cloud", …)`.
pub(crate) fn ui(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Ui> {
    let content = inside(key, input, "ui(icon = \"cloud\", running = \"Looking up the weather\")")?;
    let mut ui = Ui::default();
    read(content, &UI, &mut ui, errors);
    Ok(ui)
}

/// `(undescribed, …)`.
pub(crate) fn allow(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Vec<Advice>> {
    let content = inside(key, input, "allow(undescribed)")?;
    let mut allowed = Vec::new();
    each(content, errors, |key, _, errors| {
        let word = key.unraw().to_string();
        match Advice::ALL.iter().find(|(name, _)| *name == word) {
            Some((_, advice)) => allowed.push(*advice),
            None => errors.at(key.span(), text::no_advice(&word, Advice::NAMES)),
        }
        Ok(())
    });
    Ok(allowed)
}

/// `(team = "search", …)`.
pub(crate) fn meta(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Vec<(String, Lit)>> {
    let content = inside(key, input, "meta(team = \"search\")")?;
    let mut meta: Vec<(String, Lit)> = Vec::new();
    each(content, errors, |key, input, _| {
        let word = key.unraw().to_string();
        let literal = value_or(key, input, &format!("{word} = \"…\""), text::META_VALUE)?;
        if meta.iter().any(|(known, _)| *known == word) {
            return Err(syn::Error::new(key.span(), text::twice(&word)));
        }
        meta.push((word, literal));
        Ok(())
    });
    Ok(meta)
}

/// Returns the literal that `value` is.
pub(crate) fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

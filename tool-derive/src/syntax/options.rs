//! `#[tool(…)]`: one grammar for all options, which goes on after a mistake.

use proc_macro2::{Span, TokenStream};
use syn::{
    Expr, ExprArray, ExprLit, Ident, Lit, LitStr, Path, Token, Type,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
};

use crate::diag::{Errors, text};

/// A value, and where it was written.
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// Who approves a call.
pub(crate) enum Approval {
    Never,
    Always,
    When(Expr),
}

/// What a tool does to the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    ReadOnly,
    Write,
    Destructive,
}

/// What `#[tool(…)]` says.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) approval: Option<Spanned<Approval>>,
    pub(crate) effect: Option<Spanned<Effect>>,
    pub(crate) idempotent: Option<Span>,
    pub(crate) open_world: Option<Span>,
    pub(crate) external: Option<Span>,
    pub(crate) output: Option<Spanned<Type>>,
    pub(crate) state: Option<Spanned<Type>>,
    /// Milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) retries: Option<Spanned<u32>>,
    pub(crate) sequential: Option<Span>,
    pub(crate) eager: Option<Span>,
    pub(crate) blocking: Option<Span>,
    pub(crate) strict: Option<Span>,
    pub(crate) untrusted: Option<Span>,
    pub(crate) challenge: Option<LitStr>,
    pub(crate) version: Option<LitStr>,
    pub(crate) migrate_from: Vec<LitStr>,
    pub(crate) examples: Vec<LitStr>,
    /// Icon, running, done, tooltip.
    pub(crate) ui: Option<[Option<LitStr>; 4]>,
    pub(crate) meta: Vec<(String, Lit)>,
    pub(crate) krate: Option<Path>,
}

/// Every option of `#[tool]`.
const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "approval",
    "effect",
    "idempotent",
    "open_world",
    "external",
    "output",
    "state",
    "timeout",
    "retries",
    "sequential",
    "eager",
    "blocking",
    "strict",
    "untrusted",
    "challenge",
    "version",
    "migrate_from",
    "examples",
    "ui",
    "meta",
    "crate",
];

const UI_KEYS: &[&str] = &["icon", "running", "done", "tooltip"];

impl Options {
    /// Reads `tokens`; what is wrong goes to `errors`, and the rest is read all the same.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut seen = Vec::new();
        each(tokens, errors, |key, input, errors| {
            let word = key.unraw().to_string();
            if !KEYS.contains(&word.as_str()) {
                errors.at(key.span(), text::unknown(&word, "option", KEYS));
                return skip(input);
            }
            if seen.contains(&word) {
                errors.at(key.span(), text::twice(&word));
                return skip(input);
            }
            seen.push(word.clone());
            options.option(&word, key, input, errors)
        });
        options
    }

    fn option(&mut self, word: &str, key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let span = key.span();
        match word {
            "name" => self.name = Some(value(key, input, "name = \"search\"")?),
            "title" => self.title = Some(value(key, input, "title = \"Search\"")?),
            "description" => self.description = Some(value(key, input, "description = \"…\"")?),
            "challenge" => self.challenge = Some(value(key, input, "challenge = \"delete {path}\"")?),
            "version" => self.version = Some(value(key, input, "version = \"2\"")?),
            "crate" => self.krate = Some(value(key, input, "crate = my_crate::tool_runtime")?),
            "output" => self.output = Some(Spanned { value: value(key, input, "output = Confirmation")?, span }),
            "state" => self.state = Some(Spanned { value: value(key, input, "state = Workspace")?, span }),
            "idempotent" => self.idempotent = Some(flag(key, input)?),
            "open_world" => self.open_world = Some(flag(key, input)?),
            "external" => self.external = Some(flag(key, input)?),
            "sequential" => self.sequential = Some(flag(key, input)?),
            "eager" => self.eager = Some(flag(key, input)?),
            "blocking" => self.blocking = Some(flag(key, input)?),
            "strict" => self.strict = Some(flag(key, input)?),
            "untrusted" => self.untrusted = Some(flag(key, input)?),
            "approval" => {
                equals(key, input, "approval = always")?;
                let value = approval(input, errors)?;
                self.approval = Some(Spanned { value, span });
            }
            "effect" => {
                equals(key, input, "effect = read_only")?;
                self.effect = Some(Spanned { value: effect(input)?, span });
            }
            "timeout" => {
                let time: LitStr = value(key, input, "timeout = \"30s\"")?;
                self.timeout = Some(millis(&time.value()).ok_or_else(|| syn::Error::new(time.span(), text::DURATION))?);
            }
            "retries" => {
                let count: syn::LitInt = value(key, input, "retries = 2")?;
                self.retries = Some(Spanned { value: count.base10_parse()?, span });
            }
            "migrate_from" => {
                equals(key, input, "migrate_from = [\"1\"]")?;
                self.migrate_from = strings(&input.parse()?)?;
            }
            "examples" => {
                equals(key, input, "examples = [r#\"{\"city\": \"Paris\"}\"#]")?;
                self.examples = strings(&input.parse()?)?;
            }
            "ui" => self.ui = Some(ui(key, input, errors)?),
            _ => {
                let content = inside(key, input, "meta(team = \"search\")")?;
                each(content, errors, |key, input, _| {
                    let lit: Lit = value(key, input, "key = \"value\"")
                        .map_err(|error| syn::Error::new(error.span(), text::META_VALUE))?;
                    self.meta.push((key.unraw().to_string(), lit));
                    Ok(())
                });
            }
        }
        Ok(())
    }
}

/// Reads `key …, key …`. A mistake in one entry does not hide the others.
pub(crate) fn each(
    tokens: TokenStream,
    errors: &mut Errors,
    mut entry: impl FnMut(&Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    let walk = |input: ParseStream<'_>| -> syn::Result<()> {
        while !input.is_empty() {
            let outcome = input.call(Ident::parse_any).and_then(|key| entry(&key, input, errors));
            match outcome {
                Err(error) => {
                    errors.push(error);
                    skip(input)?;
                }
                Ok(()) if !input.is_empty() && !input.peek(Token![,]) => {
                    errors.push(input.error(text::COMMA));
                    skip(input)?;
                }
                Ok(()) => {}
            }
            let _: Option<Token![,]> = input.parse()?;
        }
        Ok(())
    };
    if let Err(error) = walk.parse2(tokens) {
        errors.push(error);
    }
}

/// Moves to the next comma.
pub(crate) fn skip(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

/// Reads `= value`.
pub(crate) fn value<T: Parse>(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<T> {
    equals(key, input, example)?;
    input.parse()
}

fn equals(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
    match input.parse::<Option<Token![=]>>()? {
        Some(_) if !input.is_empty() => Ok(()),
        _ => Err(syn::Error::new(key.span(), text::needs_value(&key.unraw().to_string(), example))),
    }
}

/// Reads nothing: the option is a flag.
pub(crate) fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<Span> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(key.span());
    }
    Err(syn::Error::new(key.span(), text::takes_no_value(&key.unraw().to_string())))
}

/// Reads `( … )`.
pub(crate) fn inside(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<TokenStream> {
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(key.span(), text::needs_value(&key.unraw().to_string(), example)));
    }
    let content;
    parenthesized!(content in input);
    content.parse()
}

fn approval(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Approval> {
    let word = input.call(Ident::parse_any).map_err(|error| syn::Error::new(error.span(), text::APPROVAL))?;
    match word.to_string().as_str() {
        "never" => Ok(Approval::Never),
        "always" => Ok(Approval::Always),
        "when" => {
            let content = inside(&word, input, "when(is_expensive)")?;
            match syn::parse2(content) {
                Ok(predicate) => Ok(Approval::When(predicate)),
                Err(error) => {
                    errors.push(error);
                    Ok(Approval::Always)
                }
            }
        }
        other => {
            Err(syn::Error::new(word.span(), text::unknown_word(other, text::APPROVAL, &["never", "always", "when"])))
        }
    }
}

fn effect(input: ParseStream<'_>) -> syn::Result<Effect> {
    let word = input.call(Ident::parse_any).map_err(|error| syn::Error::new(error.span(), text::EFFECT))?;
    match word.to_string().as_str() {
        "read_only" => Ok(Effect::ReadOnly),
        "write" => Ok(Effect::Write),
        "destructive" => Ok(Effect::Destructive),
        other => Err(syn::Error::new(
            word.span(),
            text::unknown_word(other, text::EFFECT, &["read_only", "write", "destructive"]),
        )),
    }
}

fn ui(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<[Option<LitStr>; 4]> {
    let content = inside(key, input, "ui(icon = \"cloud\", running = \"Looking up the weather\")")?;
    let mut ui = [const { None }; 4];
    each(content, errors, |key, input, errors| {
        let word = key.unraw().to_string();
        let Some(place) = UI_KEYS.iter().position(|known| *known == word) else {
            errors.at(key.span(), text::unknown(&word, "option of `ui`", UI_KEYS));
            return skip(input);
        };
        if ui[place].is_some() {
            errors.at(key.span(), text::twice(&word));
            return skip(input);
        }
        ui[place] = Some(value(key, input, "icon = \"cloud\"")?);
        Ok(())
    });
    Ok(ui)
}

fn strings(array: &Expr) -> syn::Result<Vec<LitStr>> {
    let wrong = || syn::Error::new_spanned(array, text::STRINGS);
    let Expr::Array(ExprArray { elems, .. }) = array else { return Err(wrong()) };
    let elems: &Punctuated<Expr, Token![,]> = elems;
    elems
        .iter()
        .map(|elem| match elem {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
            _ => Err(wrong()),
        })
        .collect()
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

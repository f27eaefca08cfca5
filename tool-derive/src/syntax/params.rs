//! The attributes of a parameter: `#[arg(…)]`, `#[state]`, `#[context]`.

use proc_macro2::Span;
use syn::{
    Attribute, Expr, LitStr, Meta, Token, ext::IdentExt, parse::Parser, punctuated::Punctuated, spanned::Spanned as _,
};

use super::{
    options::{Spanned, each, flag, inside, skip, value},
    range::{Range, Wrong},
};
use crate::diag::{Errors, text};

/// What a parameter is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Arg,
    State,
    Context,
}

/// The value of a parameter that is not given.
pub(crate) enum Default {
    /// `Default::default()`.
    Trait(Span),
    /// An expression.
    Value(Box<Expr>),
}

/// What the attributes of a parameter say.
#[derive(Default)]
pub(crate) struct ParamAttrs {
    pub(crate) role: Option<Spanned<Role>>,
    pub(crate) default: Option<Default>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) range: Option<Range>,
    pub(crate) length: Option<Range>,
    pub(crate) pattern: Option<LitStr>,
    pub(crate) format: Option<LitStr>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) secret: Option<Span>,
}

/// Every option of `#[arg]`.
const KEYS: &[&str] = &["default", "rename", "range", "length", "pattern", "format", "example", "secret"];

/// The attributes that are ours, and are taken off the item.
const OURS: &[&str] = &["arg", "state", "context", "dynamic"];

/// Whether `attr` is ours.
pub(crate) fn is_ours(attr: &Attribute) -> bool {
    OURS.iter().any(|name| attr.path().is_ident(name))
}

impl ParamAttrs {
    /// Reads the attributes that are ours.
    pub(crate) fn parse(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut params = Self::default();
        let mut seen = Vec::new();
        for attr in attrs.iter().filter(|attr| is_ours(attr)) {
            if attr.path().is_ident("dynamic") {
                errors.over(attr, text::DYNAMIC);
                continue;
            }
            let role = match () {
                () if attr.path().is_ident("state") => Role::State,
                () if attr.path().is_ident("context") => Role::Context,
                () => Role::Arg,
            };
            if params.role.as_ref().is_some_and(|earlier| earlier.value != role || role != Role::Arg) {
                errors.over(attr, text::ONE_ROLE);
                continue;
            }
            params.role = Some(Spanned { value: role, span: attr.span() });
            match &attr.meta {
                Meta::Path(_) => {}
                Meta::List(list) if role == Role::Arg => each(list.tokens.clone(), errors, |key, input, errors| {
                    let word = key.unraw().to_string();
                    if !KEYS.contains(&word.as_str()) {
                        errors.at(key.span(), text::unknown(&word, "option of `arg`", KEYS));
                        return skip(input);
                    }
                    if word != "example" && seen.contains(&word) {
                        errors.at(key.span(), text::twice(&word));
                        return skip(input);
                    }
                    seen.push(word.clone());
                    params.option(&word, key, input, errors)
                }),
                _ => errors.over(attr, text::ROLE_ARGS),
            }
        }
        params
    }

    fn option(
        &mut self,
        word: &str,
        key: &syn::Ident,
        input: syn::parse::ParseStream<'_>,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        match word {
            "default" if input.peek(Token![=]) => {
                self.default = Some(Default::Value(Box::new(value(key, input, "default = 10")?)));
            }
            "default" => self.default = Some(Default::Trait(flag(key, input)?)),
            "rename" => self.rename = Some(value(key, input, "rename = \"type\"")?),
            "pattern" => self.pattern = Some(value(key, input, "pattern = \"^[a-z]+$\"")?),
            "format" => self.format = Some(value(key, input, "format = \"email\"")?),
            "example" => self.examples.push(value(key, input, "example = \"Paris\"")?),
            "secret" => self.secret = Some(flag(key, input)?),
            "range" => self.range = range(inside(key, input, "range(1..=50)")?, text::RANGE, errors)?,
            _ => self.length = range(inside(key, input, "length(1..=100)")?, text::LENGTH, errors)?,
        }
        Ok(())
    }

    /// Whether the model gives the parameter, and something was said about its value.
    pub(crate) fn says_something(&self) -> bool {
        self.default.is_some()
            || self.range.is_some()
            || self.length.is_some()
            || self.pattern.is_some()
            || self.format.is_some()
            || !self.examples.is_empty()
    }
}

fn range(tokens: proc_macro2::TokenStream, wrong: &str, errors: &mut Errors) -> syn::Result<Option<Range>> {
    let span = tokens.span();
    let exprs = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens)?;
    let expr = match exprs.first() {
        Some(expr) if exprs.len() == 1 => expr,
        _ => return Err(syn::Error::new(span, wrong)),
    };
    match Range::of(expr) {
        Ok(range) => Ok(Some(range)),
        Err(Wrong { span, is_bound }) => {
            errors.at(span, if is_bound { text::BOUND } else { wrong });
            Ok(None)
        }
    }
}

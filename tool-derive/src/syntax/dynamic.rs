//! `#[dynamic(…)]`: what it says.

use proc_macro2::Span;
use syn::{
    Attribute, Expr, ExprPath, Ident, Meta, Path, Token, ext::IdentExt, parse::ParseStream, parse::Parser,
    punctuated::Punctuated, spanned::Spanned as _,
};

use super::grammar::{Keys, flag, inside, options, read, value_or};
use crate::diag::{Errors, text};

options! {
    /// The options of `#[dynamic(…)]`.
    DynamicOptions, DYNAMIC_OPTIONS:
    "validate" => validate: Option<Validator> = |key, input, _| validator(key, input, "validate = departure", text::VALIDATOR);
    "nested" =>
        /// The place of the flag that its own fields are judged.
        nested: Option<Span> = |key, input, _| flag(key, input);
    "requires" =>
        /// The parameters that must be accepted before.
        requires: Vec<Ident> = |key, input, _| names(key, input);
    "after" =>
        /// The parameters that are judged before.
        after: Vec<Ident> = |key, input, _| names(key, input);
    "hints" =>
        /// The parameters of which the validator sees what was given.
        hints: Vec<Ident> = |key, input, _| names(key, input);
}

/// Every option of `#[dynamic]`.
const DYNAMIC: Keys<DynamicOptions> = Keys { of: "dynamic", known: DYNAMIC_OPTIONS, many: "" };

/// The attribute `#[dynamic(…)]` of a parameter.
pub(crate) struct Dynamic {
    pub(crate) span: Span,
    /// True if all of it could be read.
    pub(crate) is_whole: bool,
    pub(crate) options: DynamicOptions,
}

impl Dynamic {
    /// Reads an attribute `dynamic`.
    pub(crate) fn parse(attr: &Attribute, errors: &mut Errors) -> Self {
        let (options, is_whole) = errors.watch(|errors| {
            let mut options = DynamicOptions::default();
            match &attr.meta {
                Meta::List(list) => read(list.tokens.clone(), &DYNAMIC, &mut options, errors),
                Meta::Path(_) => {}
                Meta::NameValue(_) => errors.over(attr, text::DYNAMIC_LIST),
            }
            options
        });
        Self { span: attr.path().span(), is_whole, options }
    }

    /// The parameters that are judged before this one.
    pub(crate) fn before(&self) -> impl Iterator<Item = &Ident> {
        self.options.requires.iter().chain(&self.options.after)
    }
}

/// The path of a function of the user's.
pub(crate) type Validator = ExprPath;

/// Reads `= path`; `wrong` is the error for anything else.
pub(crate) fn validator(key: &Ident, input: ParseStream<'_>, example: &str, wrong: &str) -> syn::Result<Validator> {
    match value_or(key, input, example, wrong)? {
        Expr::Path(path) => Ok(path),
        other => Err(syn::Error::new_spanned(other, wrong)),
    }
}

/// Returns the place of a path's last word: what is wrong with a function is an error at its own name.
pub(crate) fn last(path: &Path) -> Span {
    path.segments.last().map_or_else(|| path.span(), |last| last.ident.span())
}

/// Reads `(a, b)`.
fn names(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let content = inside(key, input, &format!("{key}(departure)"))?;
    let parse = |input: ParseStream<'_>| Punctuated::<Ident, Token![,]>::parse_terminated_with(input, Ident::parse_any);
    let names = parse.parse2(content).map_err(|error| syn::Error::new(error.span(), text::names(&key.to_string())))?;
    Ok(names.into_iter().collect())
}

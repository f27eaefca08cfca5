//! `#[dynamic(…)]`: what it says.

use proc_macro2::Span;
use syn::{
    Attribute, Expr, ExprPath, Ident, Meta, Path, Token, ext::IdentExt, parse::ParseStream, parse::Parser,
    punctuated::Punctuated, spanned::Spanned as _,
};

use super::grammar::{Keys, flag, inside, options, value_or};
use crate::diag::{Errors, text};

/// What `#[dynamic(…)]` says of a parameter.
pub(crate) struct Dynamic {
    pub(crate) span: Span,
    /// Without it the parameter is nested, or a mistake has been told.
    pub(crate) validate: Option<Validator>,
    /// Whether its own fields are judged.
    pub(crate) nested: Option<Span>,
    /// The parameters that must be accepted before.
    pub(crate) requires: Vec<Ident>,
    /// The parameters that are judged before.
    pub(crate) after: Vec<Ident>,
    /// The parameters of which the validator sees what was given.
    pub(crate) hints: Vec<Ident>,
}

/// Every option of `#[dynamic]`.
const DYNAMIC: Keys = Keys { of: "dynamic", known: &["validate", "nested", "requires", "after", "hints"], many: "" };

impl Dynamic {
    /// Reads an attribute `dynamic`.
    pub(crate) fn parse(attr: &Attribute, errors: &mut Errors) -> Self {
        let span = attr.path().span();
        let mut dynamic =
            Self { span, validate: None, nested: None, requires: Vec::new(), after: Vec::new(), hints: Vec::new() };
        let before = errors.count();
        match &attr.meta {
            Meta::List(list) => {
                options(list.tokens.clone(), &DYNAMIC, errors, |word, key, input, _| dynamic.option(word, key, input));
            }
            Meta::Path(_) => {}
            Meta::NameValue(_) => errors.over(attr, text::DYNAMIC_LIST),
        }
        if dynamic.validate.is_none() && dynamic.nested.is_none() && errors.count() == before {
            errors.at(span, text::NO_VALIDATOR);
        }
        dynamic
    }

    fn option(&mut self, word: &str, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match word {
            "validate" => self.validate = Some(validator(key, input, "validate = departure", text::VALIDATOR)?),
            "nested" => self.nested = Some(flag(key, input)?),
            "requires" => self.requires = names(key, input)?,
            "after" => self.after = names(key, input)?,
            _ => self.hints = names(key, input)?,
        }
        Ok(())
    }

    /// The parameters that are judged before this one.
    pub(crate) fn before(&self) -> impl Iterator<Item = &Ident> {
        self.requires.iter().chain(&self.after)
    }
}

/// The path of a function of the user's.
pub(crate) type Validator = ExprPath;

/// Reads `= path`; `wrong` is what is said about anything else.
pub(crate) fn validator(key: &Ident, input: ParseStream<'_>, example: &str, wrong: &str) -> syn::Result<Validator> {
    match value_or(key, input, example, wrong)? {
        Expr::Path(path) => Ok(path),
        other => Err(syn::Error::new_spanned(other, wrong)),
    }
}

/// Where a path ends: what is wrong with the function is said at its own name.
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

//! The attributes of a parameter: `#[arg(…)]`, `#[state]`, `#[context]`.

use proc_macro2::{Span, TokenStream};
use syn::{
    Attribute, Expr, Ident, LitStr, Meta, Token, parse::ParseStream, parse::Parser, punctuated::Punctuated,
    spanned::Spanned as _,
};

use super::{
    attribute::is_ours,
    dynamic::Dynamic,
    grammar::{Keys, flag, inside, options, value},
    range::{Range, Wrong},
    values::Spanned,
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
    pub(crate) dynamic: Option<Dynamic>,
}

/// Every option of `#[arg]`.
const ARG: Keys = Keys {
    of: "arg",
    known: &["default", "rename", "range", "length", "pattern", "format", "example", "secret"],
    many: "example",
};

impl ParamAttrs {
    /// Reads the attributes that are ours.
    pub(crate) fn parse(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut params = Self::default();
        for attr in attrs {
            if attr.path().is_ident("dynamic") {
                params.dynamic(attr, errors);
            } else if is_ours(attr) {
                params.attribute(attr, errors);
            }
        }
        if let (Some(dynamic), Some(Role::State | Role::Context)) =
            (&params.dynamic, params.role.as_ref().map(|role| role.value))
        {
            errors.at(dynamic.span, text::DYNAMIC_ROLE);
        }
        params
    }

    fn dynamic(&mut self, attr: &Attribute, errors: &mut Errors) {
        if self.dynamic.is_some() {
            errors.over(attr.path(), text::twice("dynamic"));
        } else {
            self.dynamic = Some(Dynamic::parse(attr, errors));
        }
    }

    fn attribute(&mut self, attr: &Attribute, errors: &mut Errors) {
        let role = match () {
            () if attr.path().is_ident("state") => Role::State,
            () if attr.path().is_ident("context") => Role::Context,
            () => Role::Arg,
        };
        if self.role.as_ref().is_some_and(|earlier| earlier.value != role || role != Role::Arg) {
            errors.over(attr, text::ONE_ROLE);
        }
        // An `#[arg]` beside another role says nothing more about the parameter.
        if self.role.as_ref().is_none_or(|earlier| earlier.value == Role::Arg) {
            self.role = Some(Spanned { value: role, span: attr.path().span() });
        }
        match &attr.meta {
            Meta::Path(_) => {}
            Meta::List(list) if role == Role::Arg => {
                options(list.tokens.clone(), &ARG, errors, |word, key, input, errors| {
                    self.option(word, key, input, errors)
                });
            }
            _ if role == Role::Arg => errors.over(attr, text::ARG_LIST),
            _ => errors.over(attr, text::ROLE_ARGS),
        }
    }

    fn option(&mut self, word: &str, key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
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
            "range" => self.range = range(inside(key, input, "range(1..=50)")?, text::RANGE, errors),
            _ => self.length = range(inside(key, input, "length(1..=100)")?, text::LENGTH, errors),
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

fn range(tokens: TokenStream, wrong: &str, errors: &mut Errors) -> Option<Range> {
    let exprs = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone());
    let Ok((Some(expr), 1)) = exprs.as_ref().map(|exprs| (exprs.first(), exprs.len())) else {
        errors.over(tokens, wrong);
        return None;
    };
    match Range::of(expr) {
        Ok(range) => Some(range),
        Err(Wrong { at, is_bound }) => {
            errors.over(at, if is_bound { text::BOUND } else { wrong });
            None
        }
    }
}

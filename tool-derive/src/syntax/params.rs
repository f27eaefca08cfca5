//! The attributes of a parameter: `#[arg(…)]`, `#[state]`, `#[context]`.

use proc_macro2::{Span, TokenStream};
use syn::{
    Attribute, Expr, Ident, LitStr, Meta, Token, parse::ParseStream, parse::Parser, punctuated::Punctuated,
    spanned::Spanned as _,
};

use super::{
    attribute::is_ours,
    dynamic::Dynamic,
    grammar::{Keys, flag, inside, options, read, value},
    range::{Range, Wrong},
    values::Spanned,
};
use crate::diag::{Errors, text};

/// The purpose of a parameter.
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

options! {
    /// The options of `#[arg(…)]`.
    ArgOptions, ARG_OPTIONS:
    "default" => default: Option<Default> = |key, input, _| default(key, input);
    "rename" => rename: Option<LitStr> = |key, input, _| value(key, input, "rename = \"type\"");
    "range" => range: Option<Range> = |key, input, _| range(inside(key, input, "range(1..=50)")?, text::RANGE);
    "length" => length: Option<Range> = |key, input, _| range(inside(key, input, "length(1..=100)")?, text::LENGTH);
    "pattern" => pattern: Option<LitStr> = |key, input, _| value(key, input, "pattern = \"^[a-z]+$\"");
    "format" => format: Option<LitStr> = |key, input, _| value(key, input, "format = \"email\"");
    "example" => examples: Vec<Expr> = |key, input, _| value::<Expr>(key, input, "example = \"Paris\"");
    "secret" => secret: Option<Span> = |key, input, _| flag(key, input);
}

/// Every option of `#[arg]`.
const ARG: Keys<ArgOptions> = Keys { of: "arg", known: ARG_OPTIONS, many: "example" };

/// The attributes of a parameter.
#[derive(Default)]
pub(crate) struct ParamAttrs {
    pub(crate) role: Option<Spanned<Role>>,
    pub(crate) arg: ArgOptions,
    pub(crate) dynamic: Option<Dynamic>,
}

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
            Meta::List(list) if role == Role::Arg => read(list.tokens.clone(), &ARG, &mut self.arg, errors),
            _ if role == Role::Arg => errors.over(attr, text::ARG_LIST),
            _ => errors.over(attr, text::ROLE_ARGS),
        }
    }

    /// Returns whether an option says something about a value that the model gives.
    pub(crate) fn says_something(&self) -> bool {
        self.arg.default.is_some()
            || self.arg.range.is_some()
            || self.arg.length.is_some()
            || self.arg.pattern.is_some()
            || self.arg.format.is_some()
            || !self.arg.examples.is_empty()
    }
}

/// Reads `default`, or `default = 10`.
fn default(key: &Ident, input: ParseStream<'_>) -> syn::Result<Default> {
    if input.peek(Token![=]) {
        return Ok(Default::Value(Box::new(value(key, input, "default = 10")?)));
    }
    Ok(Default::Trait(flag(key, input)?))
}

/// Reads `1..=50`; `wrong` is the error for anything else.
fn range(tokens: TokenStream, wrong: &str) -> syn::Result<Range> {
    let exprs = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone());
    let Ok((Some(expr), 1)) = exprs.as_ref().map(|exprs| (exprs.first(), exprs.len())) else {
        return Err(syn::Error::new_spanned(tokens, wrong));
    };
    Range::of(expr)
        .map_err(|Wrong { at, is_bound }| syn::Error::new_spanned(at, if is_bound { text::BOUND } else { wrong }))
}

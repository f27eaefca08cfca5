//! The attributes of a parameter: `#[arg(…)]`, `#[dynamic(…)]`, `#[state]`, `#[context]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, ExprClosure, ExprLit, ExprPath, ExprRange, ExprUnary, Ident, Lit, LitStr, Meta, Path, RangeLimits,
    Token, Type, UnOp,
    ext::IdentExt,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    spanned::Spanned as _,
};

use super::{
    attribute::is_parameter_attribute,
    grammar::{OptionTable, Spanned, flag, options, parenthesized, read, skip_attributes, value, value_or_error},
};
use crate::diag::{Errors, text};

/// The role of a parameter: the model, the application, a validator or the runtime provides it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Arg,
    State,
    Derived,
    Context,
}

/// The value of a parameter that a call leaves out.
pub enum Default {
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
    "range" => range: Option<Range> = |key, input, _| range(parenthesized(key, input, "range(1..=50)")?, text::RANGE);
    "length" => length: Option<Range> = |key, input, _| range(parenthesized(key, input, "length(1..=100)")?, text::LENGTH);
    "pattern" => pattern: Option<LitStr> = |key, input, _| value(key, input, "pattern = \"^[a-z]+$\"");
    "format" => format: Option<LitStr> = |key, input, _| value(key, input, "format = \"email\"");
    "example" => examples: Vec<Expr> = |key, input, _| value::<Expr>(key, input, "example = \"Paris\"");
    "secret" => secret: Option<Span> = |key, input, _| flag(key, input);
}

/// Every option of `#[arg]`.
const ARG_KEYS: OptionTable<ArgOptions> = OptionTable { attribute: "arg", options: ARG_OPTIONS, repeatable: "example" };

/// The attributes of a parameter.
#[derive(Default)]
pub struct ParamAttrs {
    pub role: Option<Spanned<Role>>,
    pub arg: ArgOptions,
    pub dynamic: Option<Dynamic>,
    /// The attributes about lints on the options.
    pub lints: Vec<Attribute>,
}

impl ParamAttrs {
    /// Reads the runtime's attributes among `attrs`.
    pub fn parse(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut params = Self::default();
        for attr in attrs {
            if attr.path().is_ident("dynamic") {
                params.read_dynamic(attr, errors);
            } else if is_parameter_attribute(attr) {
                params.read_role(attr, errors);
            }
        }
        params
    }

    fn read_dynamic(&mut self, attr: &Attribute, errors: &mut Errors) {
        if self.dynamic.is_some() {
            errors.over(attr.path(), text::given_more_than_once("dynamic"));
        } else {
            let (dynamic, lints) = Dynamic::parse(attr, errors);
            self.dynamic = Some(dynamic);
            self.lints.extend(lints);
        }
    }

    fn read_role(&mut self, attr: &Attribute, errors: &mut Errors) {
        let role = match () {
            () if attr.path().is_ident("state") => Role::State,
            () if attr.path().is_ident("derived") => Role::Derived,
            () if attr.path().is_ident("context") => Role::Context,
            () => Role::Arg,
        };
        if self.role.as_ref().is_some_and(|earlier| earlier.value != role || role != Role::Arg) {
            errors.over(attr, text::ONE_ROLE);
        }
        // Another role replaces `#[arg]`, but `#[arg]` replaces no role.
        if self.role.as_ref().is_none_or(|earlier| earlier.value == Role::Arg) {
            self.role = Some(Spanned { value: role, span: attr.path().span() });
        }
        match &attr.meta {
            Meta::Path(_) => {}
            Meta::List(list) if role == Role::Arg => {
                self.lints.extend(read(list.tokens.clone(), &ARG_KEYS, &mut self.arg, errors));
            }
            _ if role == Role::Arg => errors.over(attr, text::ARG_LIST),
            _ => errors.over(attr, text::ROLE_ARGS),
        }
    }

    /// Returns whether an option describes a value that the model provides.
    pub fn describes_value(&self) -> bool {
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

/// Reads `1..=50`. Fails with `wrong` for other tokens.
fn range(tokens: TokenStream, wrong: &str) -> syn::Result<Range> {
    let exprs = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone());
    let Ok((Some(expr), 1)) = exprs.as_ref().map(|exprs| (exprs.first(), exprs.len())) else {
        return Err(syn::Error::new_spanned(tokens, wrong));
    };
    Range::of(expr, wrong)
}

options! {
    /// The options of `#[dynamic(…)]`.
    DynamicOptions, DYNAMIC_OPTIONS:
    "validate" => validate: Option<ValidatorExpr> = |key, input, _| ValidatorExpr::parse(key, input);
    "nested" =>
        /// The place of the flag. If it is set, validators judge the fields of the parameter's type.
        nested: Option<Span> = |key, input, _| flag(key, input);
    "requires" =>
        /// The parameters that must be accepted before this one is validated.
        requires: Vec<Ident> = |key, input, _| parameter_names(key, input);
    "after" =>
        /// The parameters that are validated before this one.
        after: Vec<Ident> = |key, input, _| parameter_names(key, input);
    "hints" =>
        /// The parameters whose given values the validator sees.
        hints: Vec<Ident> = |key, input, _| parameter_names(key, input);
    "derives" => derives: Option<DerivedValue> = |key, input, _| DerivedValue::parse(key, input);
}

/// Every option of `#[dynamic]`.
const DYNAMIC_KEYS: OptionTable<DynamicOptions> =
    OptionTable { attribute: "dynamic", options: DYNAMIC_OPTIONS, repeatable: "" };

/// The attribute `#[dynamic(…)]` of a parameter.
pub struct Dynamic {
    pub span: Span,
    /// Set if the attribute has no errors.
    pub is_valid: bool,
    pub options: DynamicOptions,
}

impl Dynamic {
    /// Reads a `dynamic` attribute. Also returns the attributes about lints on its options.
    fn parse(attr: &Attribute, errors: &mut Errors) -> (Self, Vec<Attribute>) {
        let mut options = DynamicOptions::default();
        let (lints, is_valid) = errors.watch(|errors| match &attr.meta {
            Meta::List(list) => read(list.tokens.clone(), &DYNAMIC_KEYS, &mut options, errors),
            Meta::Path(_) => Vec::new(),
            Meta::NameValue(_) => {
                errors.over(attr, text::DYNAMIC_LIST);
                Vec::new()
            }
        });
        (Self { span: attr.path().span(), is_valid, options }, lints)
    }

    /// Returns the parameters that are validated before this one.
    pub fn dependencies(&self) -> impl Iterator<Item = &Ident> {
        self.options.requires.iter().chain(&self.options.after)
    }
}

/// A validator in the source: the path of a function, or a closure of two parameters.
pub enum ValidatorExpr {
    Path(FunctionPath),
    Closure(ExprClosure),
}

impl ValidatorExpr {
    /// Reads `= path`, or `= |value, known| …`.
    fn parse(key: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        match value_or_error(key, input, "validate = departure", text::EXPECTED_VALIDATOR)? {
            Expr::Path(path) => Ok(Self::Path(path)),
            Expr::Closure(closure) if closure.inputs.len() == 2 => Ok(Self::Closure(closure)),
            Expr::Closure(closure) => Err(syn::Error::new_spanned(closure, text::VALIDATOR_CLOSURE)),
            other => Err(syn::Error::new_spanned(other, text::EXPECTED_VALIDATOR)),
        }
    }
}

/// The data that a validator derives from an accepted value.
pub struct DerivedValue {
    /// The name of the data, for other validators and for the tool.
    pub ident: Ident,
    pub ty: Type,
}

impl DerivedValue {
    /// Reads `(name: Type)`.
    fn parse(key: &Ident, input: ParseStream<'_>) -> syn::Result<Self> {
        let content = parenthesized(key, input, "derives(airport: Airport)")?;
        let read = |input: ParseStream<'_>| {
            let ident = input.parse()?;
            input.parse::<Token![:]>()?;
            Ok(Self { ident, ty: input.parse()? })
        };
        read.parse2(content).map_err(|_| syn::Error::new(key.span(), text::EXPECTED_DERIVED))
    }
}

/// The path of a user's function.
pub type FunctionPath = ExprPath;

/// Reads `= path`. Fails with `wrong` for another value.
pub fn function_path(key: &Ident, input: ParseStream<'_>, example: &str, wrong: &str) -> syn::Result<FunctionPath> {
    match value_or_error(key, input, example, wrong)? {
        Expr::Path(path) => Ok(path),
        other => Err(syn::Error::new_spanned(other, wrong)),
    }
}

/// Returns the place of a path's last word: errors about a function point at the function's own name.
pub fn last_word_span(path: &Path) -> Span {
    path.segments.last().map_or_else(|| path.span(), |last| last.ident.span())
}

/// Reads `(a, b)`.
fn parameter_names(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    let content = parenthesized(key, input, &format!("{key}(departure)"))?;
    let name = |input: ParseStream<'_>| {
        input.call(skip_attributes)?;
        input.call(Ident::parse_any)
    };
    let parse = |input: ParseStream<'_>| Punctuated::<Ident, Token![,]>::parse_terminated_with(input, name);
    let names = parse
        .parse2(content)
        .map_err(|error| syn::Error::new(error.span(), text::expected_parameter_names(&key.to_string())))?;
    Ok(names.into_iter().collect())
}

/// A number in the source, such as a bound, a default or an example.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// Returns the number that `expr` is, if it is a literal, possibly negated.
    pub fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse().ok().map(Self::Int),
            Expr::Lit(ExprLit { lit: Lit::Float(float), .. }) => float.base10_parse().ok().map(Self::Float),
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Self::of(expr).map(|number| match number {
                Self::Int(int) => Self::Int(-int),
                Self::Float(float) => Self::Float(-float),
            }),
            Expr::Group(group) => Self::of(&group.expr),
            Expr::Paren(paren) => Self::of(&paren.expr),
            _ => None,
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "compared with a float, which is no finer")]
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

impl ToTokens for Number {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Int(int) => quote!(__rt::Number::Int(#int)),
            Self::Float(float) => quote!(__rt::Number::Float(#float)),
        });
    }
}

/// A range between two bounds, either of which may be missing.
#[derive(Clone)]
pub struct Range {
    pub min: Option<Number>,
    pub max: Option<Number>,
    pub exclusive: bool,
    /// The range as it was written.
    pub expr: Expr,
}

impl Range {
    /// Reads the range in `expr`. Fails with `wrong` for another expression, and for `..`.
    fn of(expr: &Expr, wrong: &str) -> syn::Result<Self> {
        let Expr::Range(ExprRange { start, limits, end, .. }) = expr else {
            return Err(syn::Error::new_spanned(expr, wrong));
        };
        if start.is_none() && end.is_none() {
            return Err(syn::Error::new_spanned(expr, wrong));
        }
        let bound = |expr: &Option<Box<Expr>>| match expr {
            Some(expr) => Number::of(expr).map(Some).ok_or_else(|| syn::Error::new_spanned(expr, text::BOUND)),
            None => Ok(None),
        };
        let (min, max) = (bound(start)?, bound(end)?);
        let exclusive = matches!(limits, RangeLimits::HalfOpen(_)) && max.is_some();
        Ok(Self { min, max, exclusive, expr: expr.clone() })
    }

    /// Returns whether the range contains no number.
    pub fn is_empty(&self) -> bool {
        match (self.min, self.max) {
            (Some(min), Some(max)) => {
                let (min, max) = (min.as_f64(), max.as_f64());
                min > max || (self.exclusive && min >= max)
            }
            _ => false,
        }
    }

    /// Returns whether the range contains `number`.
    pub fn contains(&self, number: f64) -> bool {
        self.min.is_none_or(|min| min.as_f64() <= number)
            && self.max.is_none_or(|max| if self.exclusive { number < max.as_f64() } else { number <= max.as_f64() })
    }
}

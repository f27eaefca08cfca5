//! `#[tool(…)]`: what it says.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Attribute, Expr, Ident, Lit, LitStr, Meta, Path, Type, parse::ParseStream};

use super::{
    dynamic::{Validator, validator},
    grammar::{self, Keys, flag, or_stand_in, value},
    values::{Approval, Effect, Spanned, Ui, allow, approval, count, duration, effect, meta, strings, ui},
};
use crate::diag::{
    Errors,
    text::{self, advice::Advice},
};

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
    pub(crate) resumable: Option<Span>,
    pub(crate) sequential: Option<Span>,
    pub(crate) eager: Option<Span>,
    pub(crate) blocking: Option<Span>,
    pub(crate) strict: Option<Span>,
    pub(crate) untrusted: Option<Span>,
    pub(crate) challenge: Option<LitStr>,
    pub(crate) tag: Option<LitStr>,
    pub(crate) check: Option<Validator>,
    pub(crate) touches: Option<Spanned<Expr>>,
    pub(crate) on_input_start: Option<Validator>,
    pub(crate) on_input_delta: Option<Validator>,
    pub(crate) on_input_available: Option<Validator>,
    pub(crate) version: Option<LitStr>,
    pub(crate) migrate_from: Vec<LitStr>,
    pub(crate) examples: Vec<LitStr>,
    pub(crate) ui: Option<Ui>,
    pub(crate) meta: Vec<(String, Lit)>,
    pub(crate) krate: Option<Path>,
    /// The advice that is not wanted.
    pub(crate) allow: Vec<Advice>,
}

/// Every option of `#[tool]`.
const TOOL: Keys = Keys {
    of: "",
    known: &[
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
        "resumable",
        "sequential",
        "eager",
        "blocking",
        "strict",
        "untrusted",
        "challenge",
        "tag",
        "check",
        "touches",
        "on_input_start",
        "on_input_delta",
        "on_input_available",
        "version",
        "migrate_from",
        "examples",
        "ui",
        "meta",
        "crate",
        "allow",
    ],
    many: "",
};

/// The one option of the derives' own attributes.
const CRATE: Keys = Keys { of: "", known: &["crate"], many: "" };

/// The options of `#[tools]`.
const TOOLS: Keys = Keys { of: "tools", known: &["crate", "allow"], many: "" };

/// How `crate` is written.
const CRATE_EXAMPLE: &str = "crate = my_crate::tool_runtime";

impl Options {
    /// Reads `tokens`; what is wrong goes to `errors`, and the rest is read all the same.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let tokens = options.text_alone(tokens, errors);
        grammar::options(tokens, &TOOL, errors, |word, key, input, errors| options.option(word, key, input, errors));
        options
    }

    /// A description without its key: it is one all the same, so that it is not missed too. Gives the rest.
    fn text_alone(&mut self, tokens: TokenStream, errors: &mut Errors) -> TokenStream {
        let mut rest = tokens.clone().into_iter();
        let Some(TokenTree::Literal(first)) = rest.next() else { return tokens };
        let Ok(text) = syn::parse2::<LitStr>(TokenTree::from(first).into()) else { return tokens };
        errors.at(text.span(), text::TEXT_ALONE);
        self.description = Some(syn::parse_quote!(#text));
        rest.next();
        rest.collect()
    }

    fn option(&mut self, word: &str, key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let span = key.span();
        match word {
            "name" => self.name = Some(value(key, input, "name = \"search\"")?),
            "title" => self.title = Some(value(key, input, "title = \"Search\"")?),
            "description" => self.description = Some(value(key, input, "description = \"…\"")?),
            "challenge" => self.challenge = Some(value(key, input, "challenge = \"delete {path}\"")?),
            "tag" => self.tag = Some(value(key, input, "tag = \"kind\"")?),
            "check" => self.check = Some(validator(key, input, "check = prices", text::VALIDATOR)?),
            "touches" => self.touches = Some(Spanned { value: value(key, input, "touches = files")?, span }),
            "on_input_start" => {
                self.on_input_start = Some(validator(key, input, "on_input_start = begun", text::HOOK)?);
            }
            "on_input_delta" => {
                self.on_input_delta = Some(validator(key, input, "on_input_delta = typed", text::HOOK)?);
            }
            "on_input_available" => {
                self.on_input_available = Some(validator(key, input, "on_input_available = known", text::HOOK)?);
            }
            "version" => self.version = Some(value(key, input, "version = \"2\"")?),
            "crate" => self.krate = Some(value(key, input, CRATE_EXAMPLE)?),
            "output" => {
                let ty = value(key, input, "output = Confirmation");
                let value = or_stand_in(ty, || syn::parse_quote!(()), input, errors)?;
                self.output = Some(Spanned { value, span });
            }
            "state" => self.state = Some(Spanned { value: value(key, input, "state = Workspace")?, span }),
            "idempotent" => self.idempotent = Some(flag(key, input)?),
            "open_world" => self.open_world = Some(flag(key, input)?),
            "external" => self.external = Some(flag(key, input)?),
            "resumable" => self.resumable = Some(flag(key, input)?),
            "sequential" => self.sequential = Some(flag(key, input)?),
            "eager" => self.eager = Some(flag(key, input)?),
            "blocking" => self.blocking = Some(flag(key, input)?),
            "strict" => self.strict = Some(flag(key, input)?),
            "untrusted" => self.untrusted = Some(flag(key, input)?),
            "approval" => {
                let value = or_stand_in(approval(key, input), || Approval::Always, input, errors)?;
                self.approval = Some(Spanned { value, span });
            }
            "effect" => {
                let value = or_stand_in(effect(key, input), || Effect::ReadOnly, input, errors)?;
                self.effect = Some(Spanned { value, span });
            }
            "timeout" => self.timeout = Some(duration(key, input)?),
            "retries" => self.retries = Some(count(key, input, "retries = 2")?),
            "migrate_from" => self.migrate_from = strings(key, input, "migrate_from = [\"1\"]")?,
            "examples" => self.examples = strings(key, input, "examples = [r#\"{\"city\": \"Paris\"}\"#]")?,
            "allow" => self.allow.extend(allow(key, input, errors)?),
            "ui" => self.ui = Some(ui(key, input, errors)?),
            _ => self.meta = meta(key, input, errors)?,
        }
        Ok(())
    }
}

/// Every option of `#[dynamic_input]`.
const INPUT: Keys = Keys { of: "dynamic_input", known: &["state", "crate", "allow"], many: "" };

impl Options {
    /// Reads `#[dynamic_input(…)]` among `attrs`.
    pub(crate) fn of_input(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut own = attrs.iter().filter(|attr| attr.path().is_ident("dynamic_input"));
        match own.next().map(|attr| (attr, &attr.meta)) {
            Some((_, Meta::List(list))) => {
                grammar::options(list.tokens.clone(), &INPUT, errors, |word, key, input, errors| {
                    options.option(word, key, input, errors)
                });
            }
            Some((attr, _)) => errors.over(attr, text::INPUT_OPTIONS),
            None => {}
        }
        for again in own {
            errors.over(again.path(), text::twice("dynamic_input"));
        }
        options
    }
}

/// Reads the options of `#[tools]`, which hold for each of its tools.
pub(crate) fn of_impl(tokens: TokenStream, errors: &mut Errors) -> Options {
    let mut options = Options::default();
    grammar::options(tokens, &TOOLS, errors, |word, key, input, errors| options.option(word, key, input, errors));
    options
}

/// Reads `crate = path`, where that is the only option.
pub(crate) fn krate(tokens: TokenStream, errors: &mut Errors) -> Option<Path> {
    let mut path = None;
    grammar::options(tokens, &CRATE, errors, |_, key, input, _| {
        path = Some(value(key, input, CRATE_EXAMPLE)?);
        Ok(())
    });
    path
}

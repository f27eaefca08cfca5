//! `#[tool(…)]`: what it says.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Attribute, Expr, Ident, Lit, LitStr, Meta, Path, Type, parse::Parse, parse::ParseStream};

use super::{
    dynamic::{Validator, validator},
    grammar::{Keys, flag, options, or_stand_in, read, read_only, value},
    values::{Approval, Effect, Spanned, Ui, allow, approval, count, duration, effect, meta, strings, ui},
};
use crate::diag::{
    Errors,
    text::{self, advice::Advice},
};

options! {
    /// The options of `#[tool(…)]`.
    Options, OPTIONS:
    "name" => name: Option<LitStr> = |key, input, _| value(key, input, "name = \"search\"");
    "title" => title: Option<LitStr> = |key, input, _| value(key, input, "title = \"Search\"");
    "description" => description: Option<Expr> = |key, input, _| value(key, input, "description = \"…\"");
    "approval" => approval: Option<Spanned<Approval>> = |key, input, errors| {
        let value = or_stand_in(approval(key, input), || Approval::Always, input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "effect" => effect: Option<Spanned<Effect>> = |key, input, errors| {
        let value = or_stand_in(effect(key, input), || Effect::ReadOnly, input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "idempotent" => idempotent: Option<Span> = |key, input, _| flag(key, input);
    "open_world" => open_world: Option<Span> = |key, input, _| flag(key, input);
    "external" => external: Option<Span> = |key, input, _| flag(key, input);
    "output" => output: Option<Spanned<Type>> = |key, input, errors| {
        let ty = value(key, input, "output = Confirmation");
        let value = or_stand_in(ty, || syn::parse_quote!(()), input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "state" => state: Option<Spanned<Type>> = |key, input, _| spanned(key, input, "state = Workspace");
    "timeout" =>
        /// Milliseconds.
        timeout: Option<u64> = |key, input, _| duration(key, input);
    "retries" => retries: Option<Spanned<u32>> = |key, input, _| count(key, input, "retries = 2");
    "resumable" => resumable: Option<Span> = |key, input, _| flag(key, input);
    "sequential" => sequential: Option<Span> = |key, input, _| flag(key, input);
    "eager" => eager: Option<Span> = |key, input, _| flag(key, input);
    "blocking" => blocking: Option<Span> = |key, input, _| flag(key, input);
    "strict" => strict: Option<Span> = |key, input, _| flag(key, input);
    "untrusted" => untrusted: Option<Span> = |key, input, _| flag(key, input);
    "challenge" => challenge: Option<LitStr> = |key, input, _| value(key, input, "challenge = \"delete {path}\"");
    "tag" => tag: Option<LitStr> = |key, input, _| value(key, input, "tag = \"kind\"");
    "check" => check: Option<Validator> = |key, input, _| validator(key, input, "check = prices", text::VALIDATOR);
    "touches" => touches: Option<Spanned<Expr>> = |key, input, _| spanned(key, input, "touches = files");
    "on_input_start" =>
        on_input_start: Option<Validator> = |key, input, _| validator(key, input, "on_input_start = begun", text::HOOK);
    "on_input_delta" =>
        on_input_delta: Option<Validator> = |key, input, _| validator(key, input, "on_input_delta = typed", text::HOOK);
    "on_input_available" =>
        on_input_available: Option<Validator> = |key, input, _| validator(key, input, "on_input_available = known", text::HOOK);
    "version" => version: Option<LitStr> = |key, input, _| value(key, input, "version = \"2\"");
    "migrate_from" => migrate_from: Vec<LitStr> = |key, input, _| strings(key, input, "migrate_from = [\"1\"]");
    "examples" =>
        examples: Vec<LitStr> = |key, input, _| strings(key, input, "examples = [r#\"{\"city\": \"Paris\"}\"#]");
    "ui" => ui: Option<Ui> = ui;
    "meta" => meta: Vec<(String, Lit)> = meta;
    "crate" => krate: Option<Path> = |key, input, _| value(key, input, "crate = my_crate::tool_runtime");
    "allow" =>
        /// The advice that is not wanted.
        allow: Vec<Advice> = allow;
}

/// Every option of `#[tool]`.
const TOOL: Keys<Options> = Keys { of: "", known: OPTIONS, many: "" };

/// The options of `#[tools]`, which hold for each of its tools.
const TOOLS: (Keys<Options>, &[&str]) = (Keys { of: "tools", ..TOOL }, &["crate", "allow"]);

/// Every option of `#[dynamic_input]`.
const INPUT: (Keys<Options>, &[&str]) = (Keys { of: "dynamic_input", ..TOOL }, &["state", "crate", "allow"]);

/// Reads `= value`, and where its key is.
fn spanned<T: Parse>(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Spanned<T>> {
    Ok(Spanned { value: value(key, input, example)?, span: key.span() })
}

impl Options {
    /// Reads the options of `#[tool]`; what is wrong goes to `errors`, and the rest is read all the same.
    pub(crate) fn of_tool(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let tokens = options.text_alone(tokens, errors);
        read(tokens, &TOOL, &mut options, errors);
        options
    }

    /// Reads the options of `#[tools]`.
    pub(crate) fn of_impl(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        read_only(tokens, &TOOLS.0, TOOLS.1, &mut options, errors);
        options
    }

    /// Reads `#[dynamic_input(…)]` among `attrs`.
    pub(crate) fn of_input(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut own = attrs.iter().filter(|attr| attr.path().is_ident("dynamic_input"));
        match own.next().map(|attr| (attr, &attr.meta)) {
            Some((_, Meta::List(list))) => read_only(list.tokens.clone(), &INPUT.0, INPUT.1, &mut options, errors),
            Some((attr, _)) => errors.over(attr, text::INPUT_OPTIONS),
            None => {}
        }
        for again in own {
            errors.over(again.path(), text::twice("dynamic_input"));
        }
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
}

/// Reads `crate = path`, where that is the only option.
pub(crate) fn krate(tokens: TokenStream, errors: &mut Errors) -> Option<Path> {
    let mut options = Options::default();
    read_only(tokens, &TOOL, &["crate"], &mut options, errors);
    options.krate
}

//! The options of `#[tool(…)]`, `#[tools(…)]` and `#[dynamic_input(…)]`, and the functions that read their values.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprArray, ExprLit, Ident, Lit, LitInt, LitStr, Meta, Path, Type,
    ext::IdentExt,
    parse::{Parse, ParseStream},
};

use super::{
    grammar::{
        OptionTable, Spanned, each_entry, flag, options, or_placeholder, parenthesized, read, read_subset, value,
        value_or_error,
    },
    params::{FunctionPath, function_path},
};
use crate::diag::{
    Errors,
    text::{self, Advice},
};

options! {
    /// The options of `#[tool(…)]`.
    Options, OPTIONS:
    "name" => name: Option<LitStr> = |key, input, _| value(key, input, "name = \"search\"");
    "title" => title: Option<LitStr> = |key, input, _| value(key, input, "title = \"Search\"");
    "description" => description: Option<Expr> = |key, input, _| value(key, input, "description = \"…\"");
    "approval" => approval: Option<Spanned<Approval>> = |key, input, errors| {
        let value = or_placeholder(approval(key, input), || Approval::Always, input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "effect" => effect: Option<Spanned<Effect>> = |key, input, errors| {
        let value = or_placeholder(effect(key, input), || Effect::ReadOnly, input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "idempotent" => idempotent: Option<Span> = |key, input, _| flag(key, input);
    "open_world" => open_world: Option<Span> = |key, input, _| flag(key, input);
    "external" => external: Option<Span> = |key, input, _| flag(key, input);
    "output" => output: Option<Spanned<Type>> = |key, input, errors| {
        let ty = value(key, input, "output = Confirmation");
        let value = or_placeholder(ty, || syn::parse_quote!(()), input, errors)?;
        Ok(Spanned { value, span: key.span() })
    };
    "state" => state: Option<Spanned<Type>> = |key, input, _| read_spanned(key, input, "state = Workspace");
    "timeout" =>
        /// The time limit of a call, in milliseconds.
        timeout: Option<u64> = |key, input, _| duration(key, input);
    "retries" => retries: Option<Spanned<u32>> = |key, input, _| count(key, input, "retries = 2");
    "resumable" => resumable: Option<Span> = |key, input, _| flag(key, input);
    "sequential" => sequential: Option<Span> = |key, input, _| flag(key, input);
    "eager" => eager: Option<Span> = |key, input, _| flag(key, input);
    "blocking" => blocking: Option<Span> = |key, input, _| flag(key, input);
    "strict" => strict: Option<Span> = |key, input, _| flag(key, input);
    "lenient" => lenient: Option<Span> = |key, input, _| flag(key, input);
    "untrusted" => untrusted: Option<Span> = |key, input, _| flag(key, input);
    "challenge" => challenge: Option<LitStr> = |key, input, _| value(key, input, "challenge = \"delete {path}\"");
    "tag" => tag: Option<LitStr> = |key, input, _| value(key, input, "tag = \"kind\"");
    "check" => check: Option<FunctionPath> = |key, input, _| function_path(key, input, "check = prices", text::EXPECTED_CHECK);
    "touches" => touches: Option<Spanned<Expr>> = |key, input, _| read_spanned(key, input, "touches = files");
    "on_input_start" =>
        on_input_start: Option<FunctionPath> = |key, input, _| function_path(key, input, "on_input_start = begun", text::EXPECTED_HOOK);
    "on_input_delta" =>
        on_input_delta: Option<FunctionPath> = |key, input, _| function_path(key, input, "on_input_delta = typed", text::EXPECTED_HOOK);
    "on_input_available" =>
        on_input_available: Option<FunctionPath> = |key, input, _| function_path(key, input, "on_input_available = known", text::EXPECTED_HOOK);
    "version" => version: Option<LitStr> = |key, input, _| value(key, input, "version = \"2\"");
    "migrate_from" => migrate_from: Vec<LitStr> = |key, input, _| strings(key, input, "migrate_from = [\"1\"]");
    "examples" =>
        examples: Vec<LitStr> = |key, input, _| strings(key, input, "examples = [r#\"{\"city\": \"Paris\"}\"#]");
    "ui" => ui: Option<Ui> = ui;
    "meta" => meta: Vec<(String, Lit)> = meta;
    "crate" => krate: Option<Path> = |key, input, _| value(key, input, "crate = my_crate::tool_runtime");
    "allow" =>
        /// The kinds of advice that the declaration turns off.
        allow: Vec<Advice> = allow;
    /// The attributes about lints on the options.
    lints: Vec<Attribute>;
}

/// Every option of `#[tool]`.
const TOOL_KEYS: OptionTable<Options> = OptionTable { attribute: "", options: OPTIONS, repeatable: "" };

/// The options of `#[tools]`, which apply to each of its tools.
const TOOLS_KEYS: (OptionTable<Options>, &[&str]) =
    (OptionTable { attribute: "tools", ..TOOL_KEYS }, &["crate", "allow"]);

/// The options of `#[dynamic_input]`.
const INPUT_KEYS: (OptionTable<Options>, &[&str]) =
    (OptionTable { attribute: "dynamic_input", ..TOOL_KEYS }, &["state", "crate", "allow"]);

/// Reads `= value`, and returns it with the place of the key.
fn read_spanned<T: Parse>(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Spanned<T>> {
    Ok(Spanned { value: value(key, input, example)?, span: key.span() })
}

impl Options {
    /// Reads the options of `#[tool]`. Adds mistakes to `errors`, and continues with the next option.
    pub fn of_tool(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let tokens = options.take_unnamed_description(tokens, errors);
        options.lints = read(tokens, &TOOL_KEYS, &mut options, errors);
        options
    }

    /// Reads the options of `#[tools]`.
    pub fn of_impl(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        options.lints = read_subset(tokens, &TOOLS_KEYS.0, TOOLS_KEYS.1, &mut options, errors);
        options
    }

    /// Reads `#[dynamic_input(…)]` among `attrs`.
    pub fn of_input(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut own = attrs.iter().filter(|attr| attr.path().is_ident("dynamic_input"));
        match own.next().map(|attr| (attr, &attr.meta)) {
            Some((_, Meta::List(list))) => {
                options.lints = read_subset(list.tokens.clone(), &INPUT_KEYS.0, INPUT_KEYS.1, &mut options, errors);
            }
            Some((attr, _)) => errors.over(attr, text::INPUT_OPTIONS),
            None => {}
        }
        for again in own {
            errors.over(again.path(), text::given_more_than_once("dynamic_input"));
        }
        options
    }

    /// Reports a string in first place as a description without `description =`, and keeps it. Returns the other tokens.
    fn take_unnamed_description(&mut self, tokens: TokenStream, errors: &mut Errors) -> TokenStream {
        let mut rest = tokens.clone().into_iter();
        let Some(TokenTree::Literal(first)) = rest.next() else { return tokens };
        let Ok(text) = syn::parse2::<LitStr>(TokenTree::from(first).into()) else { return tokens };
        errors.at(text.span(), text::UNNAMED_DESCRIPTION);
        self.description = Some(syn::parse_quote!(#text));
        rest.next();
        rest.collect()
    }
}

/// Reads options of which only `crate = path` is allowed. Returns the path.
pub fn crate_path(tokens: TokenStream, errors: &mut Errors) -> Option<Path> {
    let mut options = Options::default();
    read_subset(tokens, &TOOL_KEYS, &["crate"], &mut options, errors);
    options.krate
}

/// The rule for the approval of a call.
pub enum Approval {
    Never,
    Always,
    When(Expr),
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    ReadOnly,
    Write,
    Destructive,
}

options! {
    /// The texts that a person sees about a tool.
    Ui, UI_OPTIONS:
    "icon" => icon: Option<LitStr> = |key, input, _| value(key, input, "icon = \"…\"");
    "running" => running: Option<LitStr> = |key, input, _| value(key, input, "running = \"…\"");
    "done" => done: Option<LitStr> = |key, input, _| value(key, input, "done = \"…\"");
    "tooltip" => tooltip: Option<LitStr> = |key, input, _| value(key, input, "tooltip = \"…\"");
}

/// Every option of `ui`.
const UI_KEYS: OptionTable<Ui> = OptionTable { attribute: "ui", options: UI_OPTIONS, repeatable: "" };

/// Reads `= never`, `= always` or `= when(predicate)`.
pub fn approval(key: &Ident, input: ParseStream<'_>) -> syn::Result<Approval> {
    let word: Ident = value_or_error(key, input, "approval = always", text::APPROVAL)?;
    match word.to_string().as_str() {
        "never" | "always" if !input.is_empty() && !input.peek(syn::Token![,]) => {
            Err(syn::Error::new(word.span(), text::APPROVAL))
        }
        "never" => Ok(Approval::Never),
        "always" => Ok(Approval::Always),
        "when" => {
            let content = parenthesized(&word, input, "when(is_expensive)")?;
            syn::parse2(content).map(Approval::When).map_err(|_| syn::Error::new(word.span(), text::APPROVAL))
        }
        other => {
            let message = text::unknown_word(other, text::APPROVAL, &["never", "always", "when"]);
            Err(syn::Error::new(word.span(), message))
        }
    }
}

/// Reads `= read_only`, `= write` or `= destructive`.
pub fn effect(key: &Ident, input: ParseStream<'_>) -> syn::Result<Effect> {
    let word: Ident = value_or_error(key, input, "effect = read_only", text::EFFECT)?;
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

/// Reads `= "30s"`. Returns milliseconds.
pub fn duration(key: &Ident, input: ParseStream<'_>) -> syn::Result<u64> {
    let time: LitStr = value_or_error(key, input, "timeout = \"30s\"", text::DURATION)?;
    millis(&time.value()).ok_or_else(|| syn::Error::new(time.span(), text::DURATION))
}

/// Converts a time such as `500ms`, `30s`, `5m` or `1h` to milliseconds; `None` for any other text, and for zero.
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

/// Reads `= 2`.
pub fn count(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Spanned<u32>> {
    let count: LitInt = value(key, input, example)?;
    let value = count.base10_parse().map_err(|_| syn::Error::new(count.span(), text::expected_value(example)))?;
    Ok(Spanned { value, span: key.span() })
}

/// Reads `= ["1", "2"]`.
pub fn strings(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Vec<LitStr>> {
    let list: Expr = value(key, input, example)?;
    let wrong = || syn::Error::new_spanned(&list, text::expected_value(example));
    let Expr::Array(ExprArray { elems, .. }) = &list else { return Err(wrong()) };
    let text = |elem| match elem {
        &Expr::Lit(ExprLit { lit: Lit::Str(ref text), .. }) => Ok(text.clone()),
        _ => Err(wrong()),
    };
    elems.iter().map(text).collect()
}

/// Reads `(icon = "cloud", …)`.
pub fn ui(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Ui> {
    let content = parenthesized(key, input, "ui(icon = \"cloud\", running = \"Looking up the weather\")")?;
    let mut ui = Ui::default();
    read(content, &UI_KEYS, &mut ui, errors);
    Ok(ui)
}

/// Reads `(undescribed, …)`.
pub fn allow(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Vec<Advice>> {
    let content = parenthesized(key, input, "allow(undescribed)")?;
    let mut allowed = Vec::new();
    each_entry(content, errors, |key, _, errors| {
        let word = key.unraw().to_string();
        match Advice::ALL.into_iter().find(|advice| advice.0 == word) {
            Some(advice) => allowed.push(advice),
            None => errors.at(key.span(), text::unknown_advice(&word, &Advice::ALL.map(|advice| advice.0))),
        }
        Ok(())
    });
    Ok(allowed)
}

/// Reads `(team = "search", …)`.
pub fn meta(key: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Vec<(String, Lit)>> {
    let content = parenthesized(key, input, "meta(team = \"search\")")?;
    let mut meta: Vec<(String, Lit)> = Vec::new();
    each_entry(content, errors, |key, input, _| {
        let word = key.unraw().to_string();
        let literal = value_or_error(key, input, &format!("{word} = \"…\""), text::META_VALUE)?;
        if meta.iter().any(|(known, _)| *known == word) {
            return Err(syn::Error::new(key.span(), text::given_more_than_once(&word)));
        }
        meta.push((word, literal));
        Ok(())
    });
    Ok(meta)
}

/// Returns the literal in `value`, if it is one.
pub fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

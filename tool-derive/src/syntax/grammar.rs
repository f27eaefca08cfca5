//! The grammar that all attributes of the runtime share: `key, key = value, key(…)`. Parsing continues after a mistake.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{
    Attribute, Ident, Token,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream, Parser, discouraged::Speculative as _},
    token::{Bracket, Paren},
};

use super::attribute::{find_entry_misuse, is_lint_level};
use crate::diag::{Errors, text};

/// A value with a place in the source: of the value, or of its key.
#[derive(Clone)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// The function that reads the value of one option into `T`.
pub type ReadOption<T> = fn(&mut T, &Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>;

/// The options of an attribute.
pub struct OptionTable<T: 'static> {
    /// The name of the attribute, as in "unknown option `x` of `arg`"; empty for `#[tool]`.
    pub attribute: &'static str,
    pub options: &'static [(&'static str, ReadOption<T>)],
    /// The only key that may occur more than once; empty if each key may occur once.
    pub repeatable: &'static str,
}

/// Declares the options of an attribute: each line has a key, the field for its value, and the function that reads the value.
/// Further fields follow.
///
/// The macro expands to the struct of the fields, and to the table of the keys and functions.
macro_rules! options {
    (
        $(#[$meta:meta])*
        $name:ident, $table:ident:
        $($key:literal => $(#[$doc:meta])* $field:ident: $ty:ty = $read:expr;)*
        $($(#[$own_doc:meta])* $own:ident: $own_ty:ty;)*
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        pub struct $name {
            $($(#[$doc])* pub $field: $ty,)*
            $($(#[$own_doc])* pub $own: $own_ty,)*
        }

        const $table: &[(&str, $crate::syntax::grammar::ReadOption<$name>)] = &[$(
            ($key, |options, key, input, errors| {
                let read: fn(&syn::Ident, syn::parse::ParseStream<'_>, &mut $crate::diag::Errors) -> syn::Result<_> = $read;
                $crate::syntax::grammar::OptionField::put(&mut options.$field, read(key, input, errors)?);
                Ok(())
            }),
        )*];
    };
}
pub(crate) use options;

/// A field that holds the values of an option.
pub trait OptionField<T> {
    fn put(&mut self, value: T);
}

impl<T> OptionField<T> for Option<T> {
    fn put(&mut self, value: T) {
        *self = Some(value);
    }
}

impl<T> OptionField<T> for Vec<T> {
    fn put(&mut self, value: T) {
        self.push(value);
    }
}

impl<T> OptionField<Self> for Vec<T> {
    fn put(&mut self, value: Self) {
        self.extend(value);
    }
}

/// Reads entries with known keys into `target`, and reports unknown and repeated keys. Returns the attributes about lints.
pub fn read<T>(tokens: TokenStream, keys: &OptionTable<T>, target: &mut T, errors: &mut Errors) -> Vec<Attribute> {
    let subset: Vec<&str> = keys.options.iter().map(|(word, _)| *word).collect();
    read_subset(tokens, keys, &subset, target, errors)
}

/// Reads entries like [`read`], but treats keys that are not in `subset` as unknown.
pub fn read_subset<T>(
    tokens: TokenStream,
    keys: &OptionTable<T>,
    subset: &[&str],
    target: &mut T,
    errors: &mut Errors,
) -> Vec<Attribute> {
    let mut seen = Vec::new();
    each_entry(tokens, errors, |key, input, errors| {
        let word = key.unraw().to_string();
        let known = keys.options.iter().find(|(known, _)| *known == word && subset.contains(known));
        let Some((_, read)) = known else {
            errors.at(key.span(), text::unknown_option(&word, keys.attribute, subset));
            return skip_to_comma(input);
        };
        if word != keys.repeatable && seen.contains(&word) {
            errors.at(key.span(), text::given_more_than_once(&word));
            return skip_to_comma(input);
        }
        seen.push(word);
        read(target, key, input, errors)
    })
}

/// Calls `entry` for each entry of `key …, key …`. After a mistake in an entry, continues with the next one. Returns the
/// entries' attributes about lints.
pub fn each_entry(
    tokens: TokenStream,
    errors: &mut Errors,
    mut entry: impl FnMut(&Ident, ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) -> Vec<Attribute> {
    let mut lints = Vec::new();
    let walk = |input: ParseStream<'_>| -> syn::Result<()> {
        while !input.is_empty() {
            for attr in input.call(Attribute::parse_outer)? {
                match find_entry_misuse(&attr) {
                    Some(wrong) => errors.over(&attr, wrong),
                    None if is_lint_level(&attr) => lints.push(attr),
                    None => {}
                }
            }
            let outcome = match input.call(Ident::parse_any) {
                Ok(key) => entry(&key, input, errors),
                Err(error) => Err(syn::Error::new(error.span(), text::EXPECTED_OPTION)),
            };
            match outcome {
                Err(error) => {
                    errors.push(error);
                    skip_to_comma(input)?;
                }
                Ok(()) if !input.is_empty() && !input.peek(Token![,]) => {
                    errors.push(input.error(text::COMMA));
                    skip_to_comma(input)?;
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
    lints
}

/// Skips the attributes of an entry. Fails at one that has no effect there.
pub fn skip_attributes(input: ParseStream<'_>) -> syn::Result<()> {
    let attrs = input.call(Attribute::parse_outer)?;
    let wrong = attrs.iter().find_map(|attr| Some((attr, find_entry_misuse(attr)?)));
    wrong.map_or(Ok(()), |(attr, wrong)| Err(syn::Error::new_spanned(attr, wrong)))
}

/// Skips to the next comma.
pub fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// Reads `= value`.
pub fn value<T: Parse>(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<T> {
    value_or_error(key, input, example, &text::expected_value(example))
}

/// Reads `= value`. Fails with `wrong` if the value is invalid. If the value is missing, the error shows `example`.
pub fn value_or_error<T: Parse>(key: &Ident, input: ParseStream<'_>, example: &str, wrong: &str) -> syn::Result<T> {
    match input.parse::<Option<Token![=]>>()? {
        Some(_) if !input.is_empty() && !input.peek(Token![,]) => {}
        _ => return Err(syn::Error::new(key.span(), text::needs_value(&key.unraw().to_string(), example))),
    }
    // Parses a fork, because after a mistake in brackets syn would report their unread rest as a second error.
    let ahead = input.fork();
    let value = ahead.parse().map_err(|error| {
        // An error at the end of the input has no useful span.
        let at_end = error.to_string().starts_with("unexpected end of input");
        syn::Error::new(if at_end { key.span() } else { error.span() }, wrong)
    })?;
    input.advance_to(&ahead);
    Ok(value)
}

/// Returns the value. For an error, reports it and returns a placeholder, so that the option does not also count as missing.
pub fn or_placeholder<T>(
    value: syn::Result<T>,
    placeholder: impl FnOnce() -> T,
    input: ParseStream<'_>,
    errors: &mut Errors,
) -> syn::Result<T> {
    value.or_else(|error| {
        errors.push(error);
        skip_to_comma(input)?;
        Ok(placeholder())
    })
}

/// Returns the place of a flag, an option without a value. Fails if a value follows.
pub fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<Span> {
    if input.peek(Token![=]) || input.peek(Paren) || input.peek(Bracket) {
        return Err(syn::Error::new(key.span(), text::takes_no_value(&key.unraw().to_string())));
    }
    Ok(key.span())
}

/// Reads `( … )`. Fails if the parentheses are missing or empty.
pub fn parenthesized(key: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<TokenStream> {
    let needed = || syn::Error::new(key.span(), text::needs_value(&key.unraw().to_string(), example));
    if !input.peek(Paren) {
        return Err(needed());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() { Err(needed()) } else { content.parse() }
}

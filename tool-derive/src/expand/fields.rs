//! The parameters: a constant of evidence for each, and the decoder that fills them.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Lit, spanned::Spanned as _};

use super::{as_input, evidence, hidden, usual};
use crate::{
    check::limits::literal,
    model::{Arg, Tool},
    syntax::{
        params::Default,
        range::{Number, Range},
    },
};

/// The parameters as data: the items that they need, and a reference to all of them.
///
/// Where something is evaluated that can fail, each parameter has a static of its own, because the compiler says of each
/// static only the first thing that failed; but it takes long over each.
pub(crate) fn fields(tool: &Tool) -> (TokenStream, TokenStream) {
    let mut statics = TokenStream::new();
    let fields: Vec<_> = tool
        .args()
        .enumerate()
        .map(|(index, arg)| {
            let (rules, value) = field(index, arg);
            if plain(arg) {
                return value;
            }
            let name = format_ident!("__F{index}");
            statics.extend(quote!(#rules static #name: __rt::Field = #value;));
            name.into_token_stream()
        })
        .collect();
    let otherwise = usual::otherwise(tool);
    if statics.is_empty() {
        return (quote!(#otherwise), quote!(&[#(#fields),*]));
    }
    // A static of its own, because a constant must not look at what failed.
    let count = fields.len();
    statics.extend(quote!(static __FIELDS: [__rt::Field; #count] = [#(#fields),*];));
    (quote!(#otherwise #statics), quote!(&__FIELDS))
}

fn plain(arg: &Arg) -> bool {
    let attrs = &arg.attrs;
    attrs.default.is_none()
        && attrs.range.is_none()
        && attrs.length.is_none()
        && attrs.pattern.is_none()
        && attrs.format.is_none()
}

/// What a parameter's data refers to, and the data.
fn field(index: usize, arg: &Arg) -> (TokenStream, TokenStream) {
    let (ty, name) = (&arg.ty, &arg.name);
    let doc = match &arg.doc {
        Some(doc) => doc.into_token_stream(),
        None => quote!(""),
    };
    if let Some(value) = &arg.tag {
        return (TokenStream::new(), quote!(__rt::Tag::field(#name, |_| __rt::Tag::schema(#value))));
    }
    if arg.is_nested() {
        let input = as_input(ty);
        return (TokenStream::new(), quote_spanned!(ty.span()=> #input::FIELD.named(#name, #doc)));
    }
    let (typed, usual) = (evidence(ty, "Typed"), evidence(ty, "Usual"));
    let constructor = match arg.attrs.secret {
        Some(_) => quote_spanned!(ty.span()=> #typed::secret(#name, #doc)),
        None if usual::looks(ty) => quote_spanned!(ty.span()=> #usual::CODE.field(#name, #doc)),
        None => quote_spanned!(ty.span()=> #typed::new(#name, #doc)),
    };
    let escaped = name.contains(|c: char| c < ' ' || c == '"' || c == '\\').then(|| quote!(.escaped()));
    let examples = (!arg.attrs.examples.is_empty()).then(|| {
        let texts = arg.attrs.examples.iter().filter_map(json);
        quote!(.examples(&[#(#texts),*]))
    });
    let default = arg.attrs.default.as_ref().map(|default| {
        let expr = default.expr();
        let literal = match default {
            Default::Value(expr) => json(expr),
            Default::Trait(_) => None,
        };
        let json = match literal {
            Some(text) => quote!(|| __rt::constant(#text)),
            None => quote! {|| {
                #[allow(unused_imports)]
                use __rt::NoJson as _;
                let value: #ty = #expr;
                __rt::Json(&value).json()
            }},
        };
        quote!(.default(&__rt::Given::<#ty>(|| #expr), #json))
    });
    let (rules, checks) = checks(index, arg);
    let limits = (!checks.is_empty()).then(|| quote!(.limits(&[#(#checks),*])));
    let dynamic = arg.attrs.dynamic.is_some().then(|| quote!(.dynamic()));
    (rules, quote!(#constructor #escaped #examples #default #limits #dynamic))
}

/// The statics that the checks refer to, and the checks.
fn checks(index: usize, arg: &Arg) -> (TokenStream, Vec<TokenStream>) {
    let mut statics = TokenStream::new();
    let mut checks = Vec::new();
    let check = evidence(&arg.ty, "Check");
    let option = |number: Option<TokenStream>| match number {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    if let Some(Range { min, max, exclusive, expr }) = &arg.attrs.range {
        let (min, max) = (option(min.map(|min| quote!(#min))), option(max.map(|max| quote!(#max))));
        checks.push(quote_spanned!(expr.span()=> #check::range(#min, #max, #exclusive)));
    }
    if let Some(range) = &arg.attrs.length {
        let count = |number: Number| match number {
            Number::Int(int) => usize::try_from(int).unwrap_or(usize::MAX),
            Number::Float(_) => 0,
        };
        let min = range.min.map_or(0, count);
        let max = option(range.max.map(|max| {
            let max = count(max) - usize::from(range.exclusive);
            quote!(#max)
        }));
        checks.push(quote_spanned!(range.expr.span()=> #check::length(#min, #max)));
    }
    if let Some(pattern) = &arg.attrs.pattern {
        let ident = format_ident!("__P{index}");
        statics.extend(quote!(static #ident: __rt::Pattern = __rt::Pattern::new(#pattern);));
        checks.push(quote_spanned!(pattern.span()=> #check::pattern(&#ident)));
    }
    if let Some(format) = &arg.attrs.format {
        let ident = format_ident!("__O{index}");
        statics.extend(quote!(static #ident: __rt::Format = __rt::Format::new(#format);));
        checks.push(quote_spanned!(format.span()=> #check::format(&#ident)));
    }
    (statics, checks)
}

/// `Values` and `input`, which makes a `Self`, or what `wrapped` makes that of.
pub(crate) fn input(tool: &Tool, wrapped: impl FnOnce(TokenStream) -> TokenStream) -> TokenStream {
    let types: Vec<_> = tool.args().map(|arg| &arg.ty).collect();
    let types = values(&types, |first, rest| quote!(__rt::Many<#first, #rest>));
    let (values, value) = given(tool);
    let value = wrapped(value);
    quote! {
        type Values = #types;

        fn input(#values: Self::Values) -> Self {
            #value
        }
    }
}

/// A pattern for the values of the parameters, and the input made of them.
pub(crate) fn given(tool: &Tool) -> (TokenStream, TokenStream) {
    let path = &tool.path;
    let slot = |(index, arg): (usize, &Arg)| match arg.tag {
        Some(_) => quote!(_),
        None => hidden(&format!("slot{index}")).into_token_stream(),
    };
    let slots: Vec<_> = tool.args().enumerate().map(slot).collect();
    let fields = tool.args().zip(&slots).filter(|(arg, _)| arg.tag.is_none()).map(|(arg, slot)| {
        let ident = &arg.ident;
        quote!(#ident: #slot)
    });
    (values(&slots, |first, rest| quote!(__rt::Many(#first, #rest))), quote!(#path { #(#fields),* }))
}

/// A tuple, or of more than eight a tuple and the rest.
fn values<T: ToTokens>(each: &[T], many: fn(TokenStream, TokenStream) -> TokenStream) -> TokenStream {
    let (first, rest) = each.split_at(each.len().min(8));
    let first = quote!((#(#first,)*));
    if rest.is_empty() { first } else { many(first, values(rest, many)) }
}

/// The JSON text of a literal.
pub(crate) fn json(expr: &syn::Expr) -> Option<String> {
    match Number::of(expr) {
        Some(Number::Int(int)) => return Some(int.to_string()),
        Some(Number::Float(float)) => return Some(float.to_string()),
        None => {}
    }
    lit_json(literal(expr)?)
}

/// The JSON text of a literal.
pub(crate) fn lit_json(lit: &Lit) -> Option<String> {
    match lit {
        Lit::Str(text) => Some(quoted(&text.value())),
        Lit::Char(char) => Some(quoted(&char.value().to_string())),
        Lit::Bool(bool) => Some(bool.value.to_string()),
        Lit::Int(int) => int.base10_parse::<i128>().ok().map(|int| int.to_string()),
        Lit::Float(float) => float.base10_parse::<f64>().ok().map(|float| float.to_string()),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

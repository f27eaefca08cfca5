//! The parameters: a constant of evidence for each, and the decoder that fills them.

use std::fmt::Write as _;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Lit, spanned::Spanned as _};

use super::{evidence, hidden};
use crate::{
    check::limits::literal,
    model::{Arg, Tool},
    syntax::{
        params::Default,
        range::{Number, Range},
    },
};

/// The parameters as data: what that refers to, and an expression for each.
///
/// Where something is evaluated that can fail, each parameter has a static of its own, because the compiler says of each
/// static only the first thing that failed; but it takes long over each.
pub(crate) fn fields(tool: &Tool) -> (TokenStream, Vec<TokenStream>) {
    let mut statics = TokenStream::new();
    let fields = tool.args().enumerate().map(|(index, arg)| {
        let (rules, value) = field(index, arg);
        if plain(arg) {
            return value;
        }
        let name = format_ident!("__F{index}");
        statics.extend(quote!(#rules static #name: __rt::Field = #value;));
        name.into_token_stream()
    });
    let fields = fields.collect();
    (statics, fields)
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
    let describe = arg.doc.as_ref().map(|doc| quote!(.describe(#doc)));
    let examples = (!arg.attrs.examples.is_empty()).then(|| {
        let texts = arg.attrs.examples.iter().filter_map(json);
        quote!(.examples(&[#(#texts),*]))
    });
    let param = quote!(__rt::Param::new(#name) #describe #examples);
    let typed = evidence(ty, "Typed");
    let constructor = match arg.attrs.secret {
        Some(_) => quote_spanned!(ty.span()=> #typed::secret(#param)),
        None => quote_spanned!(ty.span()=> #typed::new(#param)),
    };
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
    (rules, quote!(#constructor #default #limits))
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

/// `Tool::decode`.
pub(crate) fn decode(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    let [text, cx, refused] = ["text", "cx", "refused"].map(hidden);
    let slots: Vec<_> = (0..tool.args().count()).map(|index| hidden(&format!("slot{index}"))).collect();
    let values = values(&slots);
    let fields = tool.args().zip(&slots).map(|(arg, slot)| {
        let ident = &arg.ident;
        quote!(#ident: #slot)
    });
    quote! {
        fn decode(#text: &str, #cx: &__rt::Context) -> ::core::result::Result<#marker, __rt::Refused> {
            match __rt::values(&__DEF, #text, #cx) {
                ::core::result::Result::Ok(#values) => ::core::result::Result::Ok(#marker { #(#fields),* }),
                ::core::result::Result::Err(#refused) => ::core::result::Result::Err(#refused),
            }
        }
    }
}

/// The pattern of all values: a tuple, or of more than eight a tuple and the rest.
fn values(slots: &[Ident]) -> TokenStream {
    match slots.split_at_checked(8) {
        Some((first, rest)) if !rest.is_empty() => {
            let rest = values(rest);
            quote!(__rt::Many((#(#first,)*), #rest))
        }
        _ => quote!((#(#slots,)*)),
    }
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

//! The parameters: a constant of evidence for each, and the decoder that fills them.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Lit, spanned::Spanned as _};

use super::{evidence, hidden};
use crate::{
    check::limits::literal,
    model::{Arg, Body, Tool},
    syntax::{
        params::Default,
        range::{Number, Range},
    },
};

/// Where the evidence for each parameter and for the output is.
pub(crate) struct Places {
    pub(crate) fields: Vec<TokenStream>,
    pub(crate) output: TokenStream,
    together: bool,
}

impl Places {
    /// A static for each, or one for all where nothing is evaluated that can fail: the compiler takes long over each
    /// static, but says of each only the first thing that failed.
    pub(crate) fn of(tool: &Tool) -> Self {
        let plain = |arg: &Arg| {
            let attrs = &arg.attrs;
            attrs.default.is_none()
                && attrs.range.is_none()
                && attrs.length.is_none()
                && attrs.pattern.is_none()
                && attrs.format.is_none()
        };
        let together = matches!(tool.body, Body::Fn(_)) && tool.args().all(plain);
        let count = tool.args().count();
        let (fields, output) = if together {
            let at = |index: usize| {
                let index = syn::Index::from(index);
                quote!(__ALL.#index)
            };
            ((0..count).map(at).collect(), at(count))
        } else {
            let at = |index: usize| format_ident!("__F{index}").into_token_stream();
            ((0..count).map(at).collect(), quote!(__OUTPUT))
        };
        Self { fields, output, together }
    }
}

/// The statics of the parameters and of the output, whose type and value are `output`.
pub(crate) fn statics(tool: &Tool, places: &Places, output: (TokenStream, TokenStream)) -> TokenStream {
    let fields: Vec<_> = tool.args().enumerate().map(|(index, arg)| field(index, arg)).collect();
    let (output_type, output) = output;
    let (types, values) = (fields.iter().map(|(_, ty, _)| ty), fields.iter().map(|(_, _, value)| value));
    if places.together {
        return quote!(static __ALL: (#(#types,)* #output_type,) = (#(#values,)* #output,););
    }
    let (rules, names) = (fields.iter().map(|(rules, ..)| rules), &places.fields);
    quote! {
        #(#rules)*
        #(static #names: #types = #values;)*
        static __OUTPUT: #output_type = #output;
    }
}

/// What a parameter's evidence refers to, its type, and its value.
fn field(index: usize, arg: &Arg) -> (TokenStream, TokenStream, TokenStream) {
    let (ty, name) = (&arg.ty, &arg.name);
    let describe = arg.doc.as_ref().map(|doc| quote!(.describe(#doc)));
    let examples = (!arg.attrs.examples.is_empty()).then(|| {
        let texts = arg.attrs.examples.iter().filter_map(json);
        quote!(.examples(&[#(#texts),*]))
    });
    let param = quote!(__rt::Param::new(#name) #describe #examples);
    let field = evidence(ty, "Field");
    let constructor = match arg.attrs.secret {
        Some(_) => quote_spanned!(ty.span()=> #field::secret(#param)),
        None => quote_spanned!(ty.span()=> #field::new(#param)),
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
        quote!(.default(|| #expr, #json))
    });
    let (rules, checks) = checks(index, arg);
    let checks = (!checks.is_empty()).then(|| quote!(.checks(&[#(#checks),*])));
    (rules, quote!(__rt::Field<#ty>), quote!(#constructor #default #checks))
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

/// The body of `Tool::decode`.
pub(crate) fn decode(tool: &Tool, places: &Places, input: &TokenStream) -> TokenStream {
    let [text, cx, refused] = ["text", "cx", "refused"].map(hidden);
    let slots: Vec<_> = (0..tool.args().count()).map(|index| hidden(&format!("slot{index}"))).collect();
    let lets = slots.iter().zip(&places.fields).map(|(slot, field)| quote!(let mut #slot = #field.slot();));
    let takes = tool.args().zip(&slots).map(|(arg, slot)| {
        let ident = &arg.ident;
        quote!(#ident: #slot.take())
    });
    quote! {
        fn decode(#text: &str, #cx: &__rt::Context) -> ::core::result::Result<#input, __rt::Refused> {
            #(#lets)*
            if let ::core::result::Result::Err(#refused) = __rt::decode(&__DEF, #text, #cx, &mut [#(&mut #slots),*]) {
                return ::core::result::Result::Err(#refused);
            }
            ::core::result::Result::Ok(#input { #(#takes),* })
        }
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

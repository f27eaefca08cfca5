//! The parameters as data, each with a witness for its type, and the function that builds the input from their values.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Lit, Type, spanned::Spanned as _};

use super::tokens::{as_input, hidden_ident, witness};
use crate::declaration::{Param, Params, Tag};
use crate::syntax::{
    ecma::to_ecma,
    options::literal,
    params::{Default, Number, Range},
    types::{innermost, type_argument},
};

/// Returns the items that the parameters need, and a reference to the parameters as data.
///
/// A parameter whose constant can fail to evaluate has a static of its own, because the compiler reports only the first failure
/// of a static. The others share one, because each static costs compile time.
pub fn fields(params: &Params) -> (TokenStream, TokenStream) {
    let mut statics = TokenStream::new();
    let mut fields: Vec<_> = params.tag.iter().map(tag_field).collect();
    for (index, param) in params.indexed() {
        let (check_statics, checks) = checks(index, param);
        let value = field(param, &checks);
        if is_infallible(param) {
            fields.push(value);
            continue;
        }
        let name = format_ident!("__F{index}");
        statics.extend(quote!(#check_statics static #name: __rt::Field = #value;));
        fields.push(name.into_token_stream());
    }
    let has_other_types = params.fields.iter().any(|param| !is_built_in(&param.ty));
    let fallback = (!params.fields.is_empty()).then(|| input_fallbacks(has_other_types));
    if statics.is_empty() {
        return (quote!(#fallback), quote!(&[#(#fields),*]));
    }
    // The list is a static of its own, because a constant must not refer to a static that failed.
    let count = fields.len();
    statics.extend(quote!(static __FIELDS: [__rt::Field; #count] = [#(#fields),*];));
    (quote!(#fallback #statics), quote!(&__FIELDS))
}

/// Returns whether the compiler can always evaluate the constant of the parameter.
fn is_infallible(param: &Param) -> bool {
    let arg = &param.attrs.arg;
    arg.default.is_none()
        && arg.range.is_none()
        && arg.length.is_none()
        && arg.pattern.is_none()
        && arg.format.is_none()
}

/// Returns the data of the tag before a variant's fields.
fn tag_field(Tag { name, value }: &Tag) -> TokenStream {
    quote!(__rt::Tag::field(#name, |_| __rt::Tag::schema(#value)))
}

/// Returns the data of a parameter, with the `checks` that its value must pass.
fn field(param: &Param, checks: &[TokenStream]) -> TokenStream {
    let Param { ty, name, description, attrs, .. } = param;
    let description = description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let default = attrs.arg.default.as_ref().map(|default| default_setter(param, default));
    let limits = (!checks.is_empty()).then(|| quote!(.limits(&[#(#checks),*])));
    if let Some(inside) = param.nested_type() {
        let (input, field) = (as_input(inside), if param.is_nested_list() { quote!(LIST) } else { quote!(FIELD) });
        return quote_spanned!(inside.span()=> #input::#field.named(#name, #description) #default #limits);
    }
    let (typed, built_in) = (witness(ty, "TypeWitness"), witness(ty, "BuiltInType"));
    let constructor = match attrs.arg.secret {
        Some(_) => quote_spanned!(ty.span()=> #typed::secret(#name, #description)),
        None if is_built_in(ty) => quote_spanned!(ty.span()=> #built_in::CODE.field(#name, #description)),
        None => {
            let inside = innermost(ty);
            quote_spanned!(inside.span()=> __rt::FieldCode::field(#typed::CODE.fits::<#inside>(), #name, #description))
        }
    };
    let escaped = name.contains(|c: char| c < ' ' || c == '"' || c == '\\').then(|| quote!(.escaped()));
    let examples = (!attrs.arg.examples.is_empty()).then(|| {
        let texts = attrs.arg.examples.iter().filter_map(expr_json);
        quote!(.examples(&[#(#texts),*]))
    });
    let dynamic = param.is_dynamic().then(|| quote!(.dynamic()));
    quote!(#constructor #escaped #examples #default #limits #dynamic)
}

/// Returns `.default(…)`: the default value, and its JSON.
fn default_setter(param: &Param, default: &Default) -> TokenStream {
    let ty = &param.ty;
    let (expr, literal) = match default {
        Default::Trait(span) => {
            let literal = param.is_nested_list().then(|| "[]".to_owned());
            (quote_spanned!(*span=> ::core::default::Default::default()), literal)
        }
        Default::Value(expr) => (expr.to_token_stream(), expr_json(expr)),
    };
    let json = match literal {
        Some(text) => quote!(|| __rt::constant(#text)),
        None => quote! {|| {
            #[allow(unused_imports)]
            use __rt::JsonFallback as _;
            let value: #ty = #expr;
            __rt::Json(&value).json()
        }},
    };
    quote!(.default(&__rt::DefaultValue::<#ty>(|| #expr), #json))
}

/// Returns the checks that a parameter's value must pass, after the statics that they need.
fn checks(index: usize, param: &Param) -> (TokenStream, Vec<TokenStream>) {
    let mut statics = TokenStream::new();
    let mut checks = Vec::new();
    let arg = &param.attrs.arg;
    let check = witness(&param.ty, "Check");
    let option = |number: Option<TokenStream>| match number {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    if let Some(Range { min, max, exclusive, expr }) = &arg.range {
        let (min, max) = (option(min.map(|min| quote!(#min))), option(max.map(|max| quote!(#max))));
        checks.push(quote_spanned!(expr.span()=> #check::range(#min, #max, #exclusive)));
    }
    let most_elements = quote!(::core::option::Option::Some(__rt::MAX_ELEMENTS));
    if let Some(range) = &arg.length {
        let count = |number: Number| match number {
            Number::Int(int) => usize::try_from(int).unwrap_or(usize::MAX),
            Number::Float(_) => 0,
        };
        let min = range.min.map_or(0, count);
        let max = option(range.max.map(|max| {
            let max = count(max).saturating_sub(usize::from(range.exclusive));
            quote!(#max)
        }));
        let max = if param.is_nested_list() && range.max.is_none() { most_elements.clone() } else { max };
        checks.push(quote_spanned!(range.expr.span()=> #check::length(#min, #max)));
    } else if param.is_nested_list() {
        checks.push(quote_spanned!(param.ty.span()=> #check::length(0, #most_elements)));
    }
    if let Some(pattern) = &arg.pattern {
        let ident = format_ident!("__P{index}");
        // `check` has refused a pattern that cannot be translated.
        let published = to_ecma(&pattern.value()).unwrap_or_else(|_| pattern.value());
        let new =
            if published == pattern.value() { quote!(new(#pattern)) } else { quote!(translated(#pattern, #published)) };
        statics.extend(quote!(static #ident: __rt::Pattern = __rt::Pattern::#new;));
        checks.push(quote_spanned!(pattern.span()=> #check::pattern(&#ident)));
    }
    if let Some(format) = &arg.format {
        let ident = format_ident!("__O{index}");
        statics.extend(quote!(static #ident: __rt::Format = __rt::Format::new(#format);));
        checks.push(quote_spanned!(format.span()=> #check::format(&#ident)));
    }
    (statics, checks)
}

/// Returns the items `Values` and `input`. `wrapped` converts the input that is built from the values into `Self`.
pub fn input_fn(params: &Params, wrapped: impl FnOnce(TokenStream) -> TokenStream) -> TokenStream {
    let tag = params.tag.iter().map(|_| quote!(__rt::Tag));
    let types: Vec<_> = tag.chain(params.fields.iter().map(|param| param.ty.to_token_stream())).collect();
    let types = tuple(&types, |first, rest| quote!(__rt::Many<#first, #rest>));
    let (values, value) = field_pattern(params);
    let value = wrapped(value);
    quote! {
        type Values = #types;

        fn input(#values: Self::Values) -> Self {
            #value
        }
    }
}

/// Returns a pattern for the values of the parameters, and the input built from them.
pub fn field_pattern(params: &Params) -> (TokenStream, TokenStream) {
    let path = &params.path;
    let mut slots: Vec<_> = params.tag.iter().map(|_| quote!(_)).collect();
    let mut fields = Vec::with_capacity(params.fields.len());
    for (index, param) in params.indexed() {
        let (ident, slot) = (&param.ident, hidden_ident(&format!("slot{index}")));
        fields.push(quote!(#ident: #slot));
        slots.push(slot.into_token_stream());
    }
    (tuple(&slots, |first, rest| quote!(__rt::Many(#first, #rest))), quote!(#path { #(#fields),* }))
}

/// Returns the tuple of `each`. If it has more than eight values, `many` combines a tuple of the first eight with the rest.
fn tuple(each: &[TokenStream], many: fn(TokenStream, TokenStream) -> TokenStream) -> TokenStream {
    let (first, rest) = each.split_at(each.len().min(8));
    let first = quote!((#(#first,)*));
    if rest.is_empty() { first } else { many(first, tuple(rest, many)) }
}

/// Returns the JSON text of a literal expression.
pub fn expr_json(expr: &syn::Expr) -> Option<String> {
    match Number::of(expr) {
        Some(Number::Int(int)) => return Some(int.to_string()),
        Some(Number::Float(float)) => return Some(float.to_string()),
        None => {}
    }
    lit_json(literal(expr)?)
}

/// Returns the JSON text of a literal.
pub fn lit_json(lit: &Lit) -> Option<String> {
    match lit {
        Lit::Str(text) => Some(json_string(&text.value())),
        Lit::Char(char) => Some(json_string(&char.value().to_string())),
        Lit::Bool(bool) => Some(bool.value.to_string()),
        Lit::Int(int) => int.base10_parse::<i128>().ok().map(|int| int.to_string()),
        Lit::Float(float) => float.base10_parse::<f64>().ok().map(|float| float.to_string()),
        _ => None,
    }
}

fn json_string(text: &str) -> String {
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

const BUILT_IN_TYPES: [&str; 14] =
    ["bool", "String", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64"];

/// Returns whether the type is written like one of [`BUILT_IN_TYPES`], alone or in a `Vec` or an `Option`.
pub fn is_built_in(ty: &Type) -> bool {
    let inner = type_argument(ty, "Option").unwrap_or(ty);
    let inner = type_argument(inner, "Vec").unwrap_or(inner);
    matches!(inner, Type::Path(path) if BUILT_IN_TYPES.iter().any(|name| path.path.is_ident(name)))
}

/// Returns the import of the fallback for types that are only written like built-in ones. If `has_other_types` is set, the
/// import includes the fallbacks for other types.
pub fn input_fallbacks(has_other_types: bool) -> TokenStream {
    let has_other_types = has_other_types.then(|| quote!(BareInput as _, Undecoded as _, Undescribed as _,));
    quote! {
        #[allow(unused_imports)]
        use __rt::{#has_other_types BuiltInTypeFallback as _};
    }
}

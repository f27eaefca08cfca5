//! Types whose code the runtime may have: it says so itself, and makes the code of those that are only written alike.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{GenericArgument, PathArguments, Type};

use crate::model::Params;

const PLAIN: [&str; 14] =
    ["bool", "String", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64"];

/// Returns whether the type is written like one of them.
pub(crate) fn looks(ty: &Type) -> bool {
    is(ty, "Option", |ty| is_plain(ty) || is(ty, "Vec", is_plain)) || is(ty, "Vec", is_plain) || is_plain(ty)
}

/// Imports what makes the code of a type that is only written alike, where a parameter has such a type.
pub fn fallback(params: &Params) -> Option<TokenStream> {
    let any = params.fields.iter().any(|param| looks(&param.ty));
    any.then(|| {
        quote! {
            #[allow(unused_imports)]
            use __rt::UsualFallback as _;
        }
    })
}

fn is_plain(ty: &Type) -> bool {
    single(ty).is_some_and(|segment| segment.arguments.is_none() && PLAIN.iter().any(|name| segment.ident == name))
}

/// Returns whether the type is `name<T>` with a `T` that `inside` says yes to.
fn is(ty: &Type, name: &str, inside: impl Fn(&Type) -> bool) -> bool {
    let Some(segment) = single(ty).filter(|segment| segment.ident == name) else { return false };
    let PathArguments::AngleBracketed(given) = &segment.arguments else { return false };
    match given.args.first() {
        Some(GenericArgument::Type(ty)) => given.args.len() == 1 && inside(ty),
        _ => false,
    }
}

fn single(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => {
            path.path.segments.first().filter(|_| path.path.segments.len() == 1)
        }
        Type::Group(group) => single(&group.elem),
        Type::Paren(paren) => single(&paren.elem),
        _ => None,
    }
}

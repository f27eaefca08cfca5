//! From the items of `#[derive(Provide)]` and `#[derive(Calls)]` to what they are.

use quote::quote;
use syn::{Data, DeriveInput, Fields, Index, Member, Type, Variant};

use crate::{
    diag::{Errors, text},
    model::{CallsDef, ProvideDef},
};

/// Returns a struct that provides its fields; `None` if the item can be none.
pub(crate) fn provide(item: DeriveInput, errors: &mut Errors) -> Option<ProvideDef> {
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::PROVIDE);
        return None;
    };
    let mut seen: Vec<String> = Vec::new();
    let mut fields = Vec::new();
    for (index, field) in data.fields.iter().enumerate() {
        let ty = &field.ty;
        let text = quote!(#ty).to_string();
        if seen.contains(&text) {
            errors.over(ty, text::PROVIDED);
            continue;
        }
        seen.push(text);
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named);
        fields.push((member, ty.clone()));
    }
    Some(ProvideDef { ident: item.ident, generics: item.generics, fields })
}

/// Returns an enum of calls; `None` if the item can be none.
pub(crate) fn calls(item: DeriveInput, errors: &mut Errors) -> Option<CallsDef> {
    let variants = match &item.data {
        Data::Enum(data) if !data.variants.is_empty() => &data.variants,
        _ => {
            errors.over(&item.ident, text::CALLS);
            return None;
        }
    };
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::CALLS_GENERIC);
        return None;
    }
    let variants = variants.iter().map(|variant| (variant.ident.clone(), held(variant, errors))).collect();
    Some(CallsDef { ident: item.ident, variants })
}

/// Returns the type that a variant holds.
fn held(variant: &Variant, errors: &mut Errors) -> Option<Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => {
            errors.over(variant, text::CALLS);
            None
        }
    }
}

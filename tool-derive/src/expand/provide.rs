//! `#[derive(Provide)]` and `#[derive(Calls)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, spanned::Spanned as _};

use crate::diag::{Errors, text};

/// `impl Provide<Field>` for each field of a struct.
pub(crate) fn provide(item: &DeriveInput, runtime: &TokenStream, errors: &mut Errors) -> TokenStream {
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::PROVIDE);
        return TokenStream::new();
    };
    let (ident, (generics, args, bounds)) = (&item.ident, item.generics.split_for_impl());
    let mut seen: Vec<String> = Vec::new();
    let mut impls = TokenStream::new();
    for (index, field) in data.fields.iter().enumerate() {
        let ty = &field.ty;
        let text = quote!(#ty).to_string();
        if seen.contains(&text) {
            errors.over(ty, text::PROVIDED);
            continue;
        }
        seen.push(text);
        let member = match &field.ident {
            Some(ident) => quote!(#ident),
            None => {
                let index = syn::Index::from(index);
                quote!(#index)
            }
        };
        impls.extend(quote_spanned! {ty.span()=>
            #[automatically_derived]
            impl #generics #runtime::Provide<#ty> for #ident #args #bounds {
                fn provide(&self) -> &#ty {
                    &self.#member
                }
            }
        });
    }
    impls
}

/// What an enum of a toolset's calls can do: read a call by its name, and be read with an output.
pub(crate) fn calls(item: &DeriveInput, runtime: &TokenStream, errors: &mut Errors) -> TokenStream {
    let Data::Enum(data) = &item.data else {
        errors.over(&item.ident, text::CALLS);
        return TokenStream::new();
    };
    if data.variants.is_empty() {
        errors.over(&item.ident, text::CALLS);
        return TokenStream::new();
    }
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::CALLS_GENERIC);
        return TokenStream::new();
    }
    let ident = &item.ident;
    let (mut evidence, mut reads, mut parts) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let mut names: Vec<TokenStream> = Vec::new();
    for (index, variant) in data.variants.iter().enumerate() {
        let name = &variant.ident;
        let ty = match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => &fields.unnamed[0].ty,
            _ => {
                errors.over(variant, text::CALLS);
                parts.extend(quote!(Self::#name { .. } => ("", ""),));
                continue;
            }
        };
        let (held, span) = (format_ident!("__V{index}"), ty.span());
        let held_call = quote_spanned!(span=> __rt::Held::<#ty>::of());
        evidence.extend(quote!(const #held: __rt::Held<#ty> = #held_call;));
        if !names.is_empty() {
            evidence.extend(quote_spanned!(span=> const _: () = __rt::assert_unique(#held.name, &[#(#names),*]);));
        }
        reads.extend(quote! {
            if call.name == #held.name {
                return (#held.read)(call).map(Self::#name);
            }
        });
        parts.extend(quote!(Self::#name(call) => (#held.parts)(call),));
        names.push(quote!(#held.name));
    }
    quote! {
        #[allow(clippy::all, clippy::pedantic)]
        const _: () = {
            use #runtime as __rt;
            #evidence

            #[automatically_derived]
            impl __rt::Calls for #ident {
                const NAMES: &'static [&'static str] = &[#(#names),*];

                fn read(call: &__rt::ToolCall) -> ::core::result::Result<Self, __rt::CallError> {
                    #reads
                    ::core::result::Result::Err(__rt::not_available(&call.name, Self::NAMES))
                }

                fn parts(&self) -> (&str, &'static str) {
                    match self { #parts }
                }
            }
        };
    }
}

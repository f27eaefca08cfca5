//! `#[derive(Provide)]` and `#[derive(Calls)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, spanned::Spanned as _};

use crate::diag::{Errors, text};

/// `impl Provide<Field>` for each field of a struct.
pub(crate) fn provide(item: &DeriveInput, errors: &mut Errors) -> TokenStream {
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
            errors.over(ty, text::PROVIDE);
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
            impl #generics ::tool_runtime::Provide<#ty> for #ident #args #bounds {
                fn provide(&self) -> &#ty {
                    &self.#member
                }
            }
        });
    }
    impls
}

/// What an enum of a toolset's calls can do: read a call by its name, and be read with an output.
pub(crate) fn calls(item: &DeriveInput, errors: &mut Errors) -> TokenStream {
    let Data::Enum(data) = &item.data else {
        errors.over(&item.ident, text::CALLS);
        return TokenStream::new();
    };
    let ident = &item.ident;
    let mut reads = TokenStream::new();
    let mut answers = TokenStream::new();
    let mut names = Vec::new();
    for variant in &data.variants {
        let ty = match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => &fields.unnamed[0].ty,
            _ => {
                errors.over(variant, text::CALLS);
                continue;
            }
        };
        let name = &variant.ident;
        let span = ty.span();
        reads.extend(quote_spanned! {span=>
            if call.name == <#ty as __rt::CallOf>::NAME {
                return <#ty as __rt::CallOf>::read(call).map(Self::#name);
            }
        });
        answers.extend(quote!(Self::#name(call) => __rt::CallOf::parts(call),));
        names.push(quote_spanned!(span=> <#ty as __rt::CallOf>::NAME));
    }
    quote! {
        const _: () = {
            use ::tool_runtime::__private as __rt;

            #[automatically_derived]
            impl __rt::Calls for #ident {
                const NAMES: &'static [&'static str] = &[#(#names),*];

                fn read(call: &__rt::ToolCall) -> ::core::result::Result<Self, __rt::CallError> {
                    #reads
                    ::core::result::Result::Err(__rt::not_available(&call.name, Self::NAMES))
                }

                fn parts(&self) -> (&str, &'static str) {
                    match self { #answers }
                }
            }
        };
    }
}

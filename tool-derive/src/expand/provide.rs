//! `#[derive(Provide)]` and `#[derive(Calls)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::runtime;
use crate::model::{CallsDef, ProvideDef};

/// Returns `impl Provide<Field>` for each field of a struct; the runtime is in `krate`.
pub(crate) fn provide(item: &ProvideDef, krate: Option<&syn::Path>) -> TokenStream {
    let (runtime, ident) = (runtime(krate), &item.ident);
    let (generics, args, bounds) = item.generics.split_for_impl();
    let impls = item.fields.iter().map(|(member, ty)| {
        quote_spanned! {ty.span()=>
            #[automatically_derived]
            impl #generics #runtime::Provide<#ty> for #ident #args #bounds {
                fn provide(&self) -> &#ty {
                    &self.#member
                }
            }
        }
    });
    impls.collect()
}

/// Returns what an enum of a toolset's calls can do: read a call by its name, and be read with an output.
pub(crate) fn calls(item: &CallsDef, krate: Option<&syn::Path>) -> TokenStream {
    let (runtime, ident) = (runtime(krate), &item.ident);
    let (mut evidence, mut reads, mut parts) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
    let mut names: Vec<TokenStream> = Vec::new();
    for (index, (name, ty)) in item.variants.iter().enumerate() {
        let Some(ty) = ty else {
            parts.extend(quote!(Self::#name { .. } => ("", ""),));
            continue;
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

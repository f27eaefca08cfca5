//! A tool whose input is an enum: a hidden struct for each variant, judged as a nested one is, and `impl Variants`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    dynamic::{begin, checked, states},
    hidden, input, nested,
    work::taken,
};
use crate::model::Tool;

/// The hidden struct of the variant at `index`, which holds the enum.
pub(super) fn variant(index: usize) -> Ident {
    format_ident!("__V{index}")
}

/// Those of all variants.
pub(super) fn variants(tool: &Tool) -> impl Iterator<Item = Ident> {
    (0..tool.variants().count()).map(variant)
}

/// The structs.
pub(super) fn structs(tool: &Tool) -> TokenStream {
    let (vis, marker) = (&tool.vis, &tool.marker);
    let each = tool.variants().zip(variants(tool)).map(|((_, own), ident)| {
        let implementation = input::implementation(own, &ident, |value| quote!(#ident(#value)));
        quote!(#[allow(unreachable_pub)] #vis struct #ident(#marker); #implementation)
    });
    each.collect()
}

/// `Tool::Values` and `Tool::input`.
pub(super) fn values(tool: &Tool) -> TokenStream {
    let (marker, input) = (&tool.marker, hidden("_input"));
    quote! {
        type Values = __rt::Chosen<#marker>;

        fn input(__rt::Chosen(#input): Self::Values) -> Self {
            #input
        }
    }
}

/// `.union(…)`, for an enum.
pub(super) fn declared(tool: &Tool) -> Option<TokenStream> {
    let tag = &tool.union.as_ref()?.tag.0;
    let each = tool
        .variants()
        .zip(variants(tool))
        .map(|((value, _), ident)| quote!((#value, <#ident as __rt::DynamicInput>::def)));
    Some(quote!(.union(__rt::Union { tag: #tag, variants: &[#(#each),*] })))
}

/// `impl Variants`.
pub(super) fn implementation(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    let [variant, text, states_, cx, work, input] = ["variant", "text", "states", "_cx", "work", "_input"].map(hidden);
    let first = taken(tool).count();
    let types = states(tool);
    let idents: Vec<_> = variants(tool).collect();
    let read = idents
        .iter()
        .enumerate()
        .map(|(index, ident)| quote!(#index => __rt::whole::<#ident>(#text, #cx).map(|#ident(#input)| #input),));
    let judge = idents.iter().enumerate().map(|(index, ident)| {
        let place = syn::Index::from(first + index);
        quote! {
            #index => {
                let #work = __rt::Judging::<#ident, __rt::Lent<'a, #ident>>::understand(#text, #states_.#place, #cx);
                __rt::Box::pin(async move { #work.await.map(|#work| #work.map(|#ident(#input)| #input)) })
            }
        }
    });
    let check = tool.options.check.as_ref().map(|path| checked(tool, path));
    let begin = begin(tool);
    let none = quote!(_ => ::core::unreachable!("there are as many variants as tags"),);
    let nested = nested(tool);
    quote! {
        #[automatically_derived]
        impl __rt::Variants for #marker where #(#nested),* {
            type States<'a> = (#(#types,)*);

            fn read(
                #variant: ::core::primitive::usize,
                #text: &::core::primitive::str,
                #cx: &__rt::Context,
            ) -> ::core::result::Result<Self, __rt::Refused> {
                match #variant {
                    #(#read)*
                    #none
                }
            }

            fn judge<'a: 'b, 'b>(
                #variant: ::core::primitive::usize,
                #text: &'b ::core::primitive::str,
                #states_: &'b Self::States<'a>,
                #cx: &'b __rt::Context,
            ) -> __rt::BoxFuture<'b, ::core::result::Result<__rt::Understood<Self>, __rt::Refused>> {
                #[allow(unused_imports)]
                use __rt::NotJudging as _;
                match #variant {
                    #(#judge)*
                    #none
                }
            }

            #check
            #begin
        }
    }
}

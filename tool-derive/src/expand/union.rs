//! A tool whose input is an enum: a hidden struct for each variant, judged as a nested one is, and `impl Variants`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    dynamic::{begin_fn, check_fn, given_types},
    hidden,
    input::{dynamic_input_impl, variant_body},
    nested_bounds,
};
use crate::model::{ToolDef, Union};

/// Returns the hidden structs of the variants, which hold the enum.
pub fn variant_idents(union: &Union) -> impl Iterator<Item = Ident> {
    (0..union.variants.len()).map(|index| format_ident!("__V{index}"))
}

/// Returns the structs.
pub fn variant_structs(tool: &ToolDef, union: &Union) -> TokenStream {
    let (vis, marker) = (&tool.head.vis, &tool.head.ident);
    let each = union.variants.iter().zip(variant_idents(union)).map(|(variant, ident)| {
        let implementation = dynamic_input_impl(&ident, &variant.params, &variant_body(variant, &ident));
        quote!(#[allow(unreachable_pub)] #vis struct #ident(#marker); #implementation)
    });
    each.collect()
}

/// Returns `Tool::Values` and `Tool::input`.
pub fn input_fn(tool: &ToolDef) -> TokenStream {
    let (marker, input) = (&tool.head.ident, hidden("_input"));
    quote! {
        type Values = __rt::Chosen<#marker>;

        fn input(__rt::Chosen(#input): Self::Values) -> Self {
            #input
        }
    }
}

/// Returns `.union(…)`.
pub fn union_setter(union: &Union) -> TokenStream {
    let tag = &union.tag.value;
    let values = union.variants.iter().filter_map(|variant| variant.params.tag.as_ref()).map(|tag| &tag.value);
    let each =
        values.zip(variant_idents(union)).map(|(value, ident)| quote!((#value, <#ident as __rt::DynamicInput>::def)));
    quote!(.union(__rt::Union { tag: #tag, variants: &[#(#each),*] }))
}

/// Returns `impl Variants`.
pub fn variants_impl(tool: &ToolDef, union: &Union) -> TokenStream {
    let marker = &tool.head.ident;
    let [variant, text, states, cx, work, input] = ["variant", "text", "states", "_cx", "work", "_input"].map(hidden);
    let first = tool.state_types().count();
    let types = given_types(tool);
    let idents: Vec<_> = variant_idents(union).collect();
    let read = idents
        .iter()
        .enumerate()
        .map(|(index, ident)| quote!(#index => __rt::whole::<#ident>(#text, #cx).map(|#ident(#input)| #input),));
    let judge = idents.iter().enumerate().map(|(index, ident)| {
        let place = syn::Index::from(first + index);
        quote! {
            #index => {
                let #work = __rt::Judging::<#ident, __rt::Lent<'a, #ident>>::understand(#text, #states.#place, #cx);
                __rt::Box::pin(async move { #work.await.map(|#work| #work.map(|#ident(#input)| #input)) })
            }
        }
    });
    let (check, begin) = (check_fn(tool), begin_fn(tool));
    let none = quote!(_ => ::core::unreachable!("there are as many variants as tags"),);
    let bounds = nested_bounds(tool.nested());
    quote! {
        #[automatically_derived]
        impl __rt::Variants for #marker where #(#bounds),* {
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
                #states: &'b Self::States<'a>,
                #cx: &'b __rt::Context,
            ) -> __rt::BoxFuture<'b, ::core::result::Result<__rt::Understood<Self>, __rt::Refused>> {
                #[allow(unused_imports)]
                use __rt::JudgingFallback as _;
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

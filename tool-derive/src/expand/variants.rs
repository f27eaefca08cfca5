//! The parts of a tool's expansion that only an enum needs.

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    input::{dynamic_input_impl, variant_body},
    tokens::{hidden_ident, nested_bounds, variant_idents},
    validators::{begin_fn, check_fn, state_part_types},
};
use crate::declaration::{EnumInput, ToolDef};

/// Returns the variants' hidden structs, each of which holds a value of the enum, with their implementations.
pub fn variant_structs(tool: &ToolDef, enum_input: &EnumInput) -> TokenStream {
    let (vis, tool_type) = (&tool.head.vis, &tool.head.ident);
    let each = enum_input.variants.iter().zip(variant_idents(enum_input)).map(|(variant, ident)| {
        let implementation = dynamic_input_impl(&ident, &variant.params, &variant_body(variant, &ident));
        quote!(#[allow(unreachable_pub)] #vis struct #ident(#tool_type); #implementation)
    });
    each.collect()
}

/// Returns `Tool::Values` and `Tool::input` of a tool whose input is an enum.
pub fn enum_input_fn(tool: &ToolDef) -> TokenStream {
    let (tool_type, input) = (&tool.head.ident, hidden_ident("_input"));
    quote! {
        type Values = __rt::ReadVariant<#tool_type>;

        fn input(__rt::ReadVariant(#input): Self::Values) -> Self {
            #input
        }
    }
}

/// Returns `.union(…)`.
pub fn union_setter(enum_input: &EnumInput) -> TokenStream {
    let tag = &enum_input.tag.value;
    let values = enum_input.variants.iter().filter_map(|variant| variant.params.tag.as_ref()).map(|tag| &tag.value);
    let each = values
        .zip(variant_idents(enum_input))
        .map(|(value, ident)| quote!((#value, <#ident as __rt::DynamicInput>::def)));
    quote!(.union(__rt::Union { tag: #tag, variants: &[#(#each),*] }))
}

/// Returns `impl Variants`.
pub fn variants_impl(tool: &ToolDef, enum_input: &EnumInput) -> TokenStream {
    let tool_type = &tool.head.ident;
    let [variant, text, states, cx, work, input] =
        ["variant", "text", "states", "_cx", "work", "_input"].map(hidden_ident);
    let first = tool.body.state_types().count();
    let types = state_part_types(tool);
    let idents: Vec<_> = variant_idents(enum_input).collect();
    let read = idents.iter().enumerate().map(
        |(index, ident)| quote!(#index => __rt::read_validated::<#ident>(#text, #cx).map(|#ident(#input)| #input),),
    );
    let validate = idents.iter().enumerate().map(|(index, ident)| {
        let state_index = syn::Index::from(first + index);
        quote! {
            #index => {
                let #work = __rt::NestedValidation::<#ident, __rt::NestedState<'a, #ident>>::validate_input(#text, #states.#state_index, #cx);
                __rt::Box::pin(async move { #work.await.map(|#work| #work.map(|#ident(#input)| #input)) })
            }
        }
    });
    let (check, begin) = (check_fn(tool), begin_fn(tool));
    let unreachable_arm = quote!(_ => ::core::unreachable!("there are as many variants as tags"),);
    let bounds = nested_bounds(tool.nested_types());
    quote! {
        #[automatically_derived]
        impl __rt::Variants for #tool_type where #(#bounds),* {
            type States<'a> = (#(#types,)*);

            fn read(
                #variant: ::core::primitive::usize,
                #text: &::core::primitive::str,
                #cx: &__rt::Context,
            ) -> ::core::result::Result<Self, __rt::DecodeError> {
                match #variant {
                    #(#read)*
                    #unreachable_arm
                }
            }

            fn validate<'a: 'b, 'b>(
                #variant: ::core::primitive::usize,
                #text: &'b ::core::primitive::str,
                #states: &'b Self::States<'a>,
                #cx: &'b __rt::Context,
            ) -> __rt::BoxFuture<'b, ::core::result::Result<__rt::AcceptedInput<Self>, __rt::DecodeError>> {
                #[allow(unused_imports)]
                use __rt::NestedValidationFallback as _;
                match #variant {
                    #(#validate)*
                    #unreachable_arm
                }
            }

            #check
            #begin
        }
    }
}

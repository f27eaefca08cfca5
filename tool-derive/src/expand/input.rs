//! The expansion to `impl DynamicInput`, for a nested input and for the hidden struct of a variant.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    fields::{fields, input_fn},
    tokens::{as_input, hidden_ident, nested_bounds, runtime_path},
    validator_context::{ValidatorContext, input_contexts},
    validators::validation_items,
};
use crate::declaration::{NestedInput, Params, ValidatorScope, Variant};

/// Returns the expansion of `#[derive(DynamicInput)]` on a struct.
pub fn nested_input(input: &NestedInput) -> TokenStream {
    let ident = &input.head.ident;
    let body = impl_items(input.validator_scope(), ident, &input.params, &input_fn(&input.params, |value| value));
    input_block(input, &dynamic_input_impl(ident, &input.params, &body))
}

/// Returns the body of `impl DynamicInput` for the hidden struct `ident` of a variant. That struct holds a value of the enum.
pub fn variant_body(variant: &Variant, ident: &Ident) -> TokenStream {
    impl_items(
        variant.validator_scope(),
        ident,
        &variant.params,
        &input_fn(&variant.params, |value| quote!(#ident(#value))),
    )
}

/// Returns `impl DynamicInput` for the type `ident`.
pub fn dynamic_input_impl(ident: &Ident, params: &Params, body: &TokenStream) -> TokenStream {
    let bounds = nested_bounds(params.nested_types());
    quote! {
        #[automatically_derived]
        impl __rt::DynamicInput for #ident where #(#bounds),* { #body }
    }
}

fn impl_items(scope: ValidatorScope<'_>, ident: &Ident, params: &Params, values: &TokenStream) -> TokenStream {
    let name = &scope.head.name;
    let description = scope.head.description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let (statics, fields) = fields(params);
    let wants = state_part(scope, params);
    let validation = validation_items(scope, &quote!(__rt::NestedState<'a, Self>), |nested| {
        let ones = std::iter::repeat_n(quote!(1), nested + 1);
        quote!(#(#ones.)* 0)
    });
    let [given, known, states] = ["_given", "_known", "_states"].map(hidden_ident);
    quote! {
        type Wants = #wants;
        const KEEP: __rt::ValueSlot = {
            #[allow(unused_imports)]
            use __rt::InputWitnessFallback as _;
            __rt::InputWitness::<#ident>::KEEP
        };
        const KEEP_LIST: __rt::ValueSlot = {
            #[allow(unused_imports)]
            use __rt::InputWitnessFallback as _;
            __rt::InputWitness::<::std::vec::Vec<#ident>>::KEEP
        };

        fn def() -> &'static __rt::Def {
            #statics
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, __rt::Returned::described(|_| ::core::option::Option::None));
            &__DEF
        }

        #values
        #validation

        fn validate<'a: 'b, 'b, __X>(
            #given: &::core::primitive::str,
            #known: __rt::ValidatorInputs<'b, __X>,
            #states: &'b __rt::NestedState<'a, Self>,
        ) -> __rt::ValidatorAnswer<'b> {
            #[allow(unused_imports)]
            use __rt::NestedValidationFallback as _;
            __rt::NestedValidation::<Self, __rt::NestedState<'a, Self>>::validate(#given, #known, #states)
        }
    }
}

/// Returns a stub for a struct with errors, so that its uses cause no further errors.
pub fn nested_input_stub(input: &NestedInput) -> TokenStream {
    let ident = &input.head.ident;
    let implementation = quote! {
        #[automatically_derived]
        impl __rt::DynamicInput for #ident {
            type Wants = ();
            type Values = ();
            const KEEP: __rt::ValueSlot = __rt::UnusableType.fixed();
            const KEEP_LIST: __rt::ValueSlot = __rt::UnusableType.fixed();
            const KEEPS: &'static [__rt::ValueSlot] = &[];
            const NODES: &'static [__rt::Node] = &[];

            fn def() -> &'static __rt::Def {
                ::core::unreachable!("this does not compile")
            }

            fn input((): ()) -> Self {
                ::core::unreachable!("this does not compile")
            }

            fn ask<'a: 'b, 'b>(
                _: ::core::primitive::usize,
                _: ::core::option::Option<__rt::StoredValue>,
                _: __rt::ValidatorInputs<'b, __rt::NestedState<'a, Self>>,
            ) -> __rt::ValidatorAnswer<'b> {
                ::core::unreachable!("this does not compile")
            }

            fn validate<'a: 'b, 'b, __X>(
                _: &::core::primitive::str,
                _: __rt::ValidatorInputs<'b, __X>,
                _: &'b __rt::NestedState<'a, Self>,
            ) -> __rt::ValidatorAnswer<'b> {
                ::core::unreachable!("this does not compile")
            }
        }
    };
    input_block(input, &implementation)
}

/// Returns the type of the input's part of the application's state: its own state, and the part of each nested field.
fn state_part(scope: ValidatorScope<'_>, params: &Params) -> TokenStream {
    let nested: Vec<_> = params.nested_types().collect();
    let nested = nested.into_iter().rev().fold(quote!(()), |rest, ty| {
        let input = as_input(ty);
        let wants = quote_spanned!(ty.span()=> #input::Wants);
        quote!((#wants, #rest))
    });
    let own = scope.own_state.map_or_else(|| quote!(()), |ty| quote_spanned!(ty.span()=> __rt::OneState<#ty>));
    quote!((#own, #nested))
}

/// Returns the constant with all implementations for the nested input.
fn input_block(input: &NestedInput, implementation: &TokenStream) -> TokenStream {
    let runtime = runtime_path(input.head.krate.as_ref());
    let contexts = input_contexts(input);
    let accessors = contexts.iter().map(ValidatorContext::accessors);
    let lints = input.params.fields.iter().flat_map(|param| &param.attrs.lints);
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        #(#lints)*
        const _: () = {
            use #runtime as __rt;
            #implementation
            #(#accessors)*
        };
    }
}

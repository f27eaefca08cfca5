//! The expansion to `impl DynamicInput`, for a nested struct and for the hidden struct of a variant. Also the expansion of the
//! tool whose input is an enum of variants.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    as_input,
    context::{Context, input_contexts},
    dynamic::{asking_items, begin_fn, check_fn, given_types},
    fields::{fields, input_fn},
    hidden, nested_bounds, runtime,
};
use crate::model::{Judged, NestedInput, Params, ToolDef, Union, Variant};

/// Returns the expansion of `#[derive(DynamicInput)]` on a struct.
pub fn nested_input(input: &NestedInput) -> TokenStream {
    let ident = &input.head.ident;
    let body = body(input.judged(), ident, &input.params, &input_fn(&input.params, |value| value));
    hidden_block(input, &dynamic_input_impl(ident, &input.params, &body))
}

/// Returns the body of the impl for the hidden struct `ident` of a variant, which holds the enum.
pub fn variant_body(variant: &Variant, ident: &Ident) -> TokenStream {
    body(variant.judged(), ident, &variant.params, &input_fn(&variant.params, |value| quote!(#ident(#value))))
}

/// Returns `impl DynamicInput` for the type `ident`.
pub fn dynamic_input_impl(ident: &Ident, params: &Params, body: &TokenStream) -> TokenStream {
    let bounds = nested_bounds(params.nested());
    quote! {
        #[automatically_derived]
        impl __rt::DynamicInput for #ident where #(#bounds),* { #body }
    }
}

fn body(judged: Judged<'_>, ident: &Ident, params: &Params, values: &TokenStream) -> TokenStream {
    let name = &judged.head.name;
    let description = judged.head.description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let (statics, fields) = fields(params);
    let wants = state_part(judged, params);
    let asking = asking_items(judged, &quote!(__rt::Lent<'a, Self>), |nested| {
        let ones = std::iter::repeat_n(quote!(1), nested + 1);
        quote!(#(#ones.)* 0)
    });
    let [given, known, states] = ["_given", "_known", "_states"].map(hidden);
    quote! {
        type Wants = #wants;
        const KEEP: __rt::Keep = {
            #[allow(unused_imports)]
            use __rt::WholeFallback as _;
            __rt::Whole::<#ident>::KEEP
        };

        fn def() -> &'static __rt::Def {
            #statics
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, __rt::Returned::described(|_| ::core::option::Option::None));
            &__DEF
        }

        #values
        #asking

        fn judge<'a: 'b, 'b, __X>(
            #given: &::core::primitive::str,
            #known: __rt::Known<'b, __X>,
            #states: &'b __rt::Lent<'a, Self>,
        ) -> __rt::Asking<'b> {
            #[allow(unused_imports)]
            use __rt::JudgingFallback as _;
            __rt::Judging::<Self, __rt::Lent<'a, Self>>::judge(#given, #known, #states)
        }
    }
}

/// Returns a stand-in for a struct with mistakes, so that nothing else breaks because of them.
pub fn nested_input_stub(input: &NestedInput) -> TokenStream {
    let ident = &input.head.ident;
    let implementation = quote! {
        #[automatically_derived]
        impl __rt::DynamicInput for #ident {
            type Wants = ();
            type Values = ();
            const KEEP: __rt::Keep = __rt::Unkeepable.fixed();
            const KEEPS: &'static [__rt::Keep] = &[];
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
                _: __rt::Known<'b, __rt::Lent<'a, Self>>,
            ) -> __rt::Asking<'b> {
                ::core::unreachable!("this does not compile")
            }

            fn judge<'a: 'b, 'b, __X>(
                _: &::core::primitive::str,
                _: __rt::Known<'b, __X>,
                _: &'b __rt::Lent<'a, Self>,
            ) -> __rt::Asking<'b> {
                ::core::unreachable!("this does not compile")
            }
        }
    };
    hidden_block(input, &implementation)
}

/// Returns the type of its part of the application's state: its own state, followed by the part of each nested field.
fn state_part(judged: Judged<'_>, params: &Params) -> TokenStream {
    let nested: Vec<_> = params.nested().collect();
    let nested = nested.into_iter().rev().fold(quote!(()), |rest, ty| {
        let input = as_input(ty);
        let wants = quote_spanned!(ty.span()=> #input::Wants);
        quote!((#wants, #rest))
    });
    let own = judged.owner.map_or_else(|| quote!(()), |ty| quote_spanned!(ty.span()=> __rt::One<#ty>));
    quote!((#own, #nested))
}

/// Returns all implementations for the struct.
fn hidden_block(input: &NestedInput, implementation: &TokenStream) -> TokenStream {
    let runtime = runtime(input.head.krate.as_ref());
    let contexts = input_contexts(input);
    let accessors = contexts.iter().map(Context::accessors);
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;
            #implementation
            #(#accessors)*
        };
    }
}

/// Returns the hidden structs of the variants, which hold the enum.
pub fn variant_idents(union: &Union) -> impl Iterator<Item = Ident> {
    (0..union.variants.len()).map(|index| format_ident!("__V{index}"))
}

/// Returns the hidden structs with their implementations.
pub fn variant_structs(tool: &ToolDef, union: &Union) -> TokenStream {
    let (vis, marker) = (&tool.head.vis, &tool.head.ident);
    let each = union.variants.iter().zip(variant_idents(union)).map(|(variant, ident)| {
        let implementation = dynamic_input_impl(&ident, &variant.params, &variant_body(variant, &ident));
        quote!(#[allow(unreachable_pub)] #vis struct #ident(#marker); #implementation)
    });
    each.collect()
}

/// Returns `Tool::Values` and `Tool::input`.
pub fn union_input_fn(tool: &ToolDef) -> TokenStream {
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
    let first = tool.body.state_types().count();
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
            ) -> ::core::result::Result<Self, __rt::DecodeError> {
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
            ) -> __rt::BoxFuture<'b, ::core::result::Result<__rt::Understood<Self>, __rt::DecodeError>> {
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

//! `#[derive(DynamicInput)]`: a struct whose fields are judged where it is nested.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{as_input, context, dynamic::asking, fields, hidden, nested};
use crate::model::Tool;

/// What `#[derive(DynamicInput)]` makes of a struct.
pub(crate) fn expand(input: &Tool) -> TokenStream {
    inside(input, &implementation(input, &input.marker, |value| value))
}

/// `impl DynamicInput` for the type `ident`, whose value `wrapped` makes of the input.
pub(super) fn implementation(
    input: &Tool,
    ident: &Ident,
    wrapped: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    implemented(ident, &nested(input), &body(input, ident, wrapped))
}

fn body(input: &Tool, ident: &Ident, wrapped: impl FnOnce(TokenStream) -> TokenStream) -> TokenStream {
    let name = &input.name;
    let description = input.description.as_ref().map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let (statics, fields) = fields::fields(input);
    let values = fields::input(input, wrapped);
    let wants = wants(input);
    let asking = asking(input, &quote!(__rt::Lent<'a, Self>), |nested| {
        let ones = std::iter::repeat_n(quote!(1), nested + 1);
        quote!(#(#ones.)* 0)
    });
    let [given, known, states] = ["_given", "_known", "_states"].map(hidden);
    let judge = quote! {
        fn judge<'a: 'b, 'b, __X>(
            #given: &::core::primitive::str,
            #known: __rt::Known<'b, __X>,
            #states: &'b __rt::Lent<'a, Self>,
        ) -> __rt::Asking<'b> {
            #[allow(unused_imports)]
            use __rt::NotJudging as _;
            __rt::Judging::<Self, __rt::Lent<'a, Self>>::judge(#given, #known, #states)
        }
    };
    quote! {
        type Wants = #wants;
        const KEEP: __rt::Keep = {
            #[allow(unused_imports)]
            use __rt::NotWhole as _;
            __rt::Whole::<#ident>::KEEP
        };

        fn def() -> &'static __rt::Def {
            #statics
            static __DEF: __rt::Def = __rt::Def::new(#name, #description, #fields, __rt::Returned::described(|_| ::core::option::Option::None));
            &__DEF
        }

        #values
        #asking
        #judge
    }
}

/// The same of a struct with mistakes, so that nothing else breaks because of them.
pub(crate) fn stub(input: &Tool) -> TokenStream {
    let body = quote! {
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
            _: ::core::option::Option<__rt::Kept>,
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
    };
    inside(input, &implemented(&input.marker, &[], &body))
}

/// What it takes of the application's state: its own state, and then what each nested field takes.
fn wants(input: &Tool) -> TokenStream {
    let nested: Vec<_> = input.nested().collect();
    let nested = nested.into_iter().rev().fold(quote!(()), |rest, ty| {
        let input = as_input(ty);
        let wants = quote_spanned!(ty.span()=> #input::Wants);
        quote!((#wants, #rest))
    });
    let own = input.owner().map_or_else(|| quote!(()), |ty| quote_spanned!(ty.span()=> __rt::One<#ty>));
    quote!((#own, #nested))
}

fn implemented(ident: &Ident, nested: &[TokenStream], body: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl __rt::DynamicInput for #ident where #(#nested),* { #body }
    }
}

/// All that hangs on the struct.
fn inside(input: &Tool, implemented: &TokenStream) -> TokenStream {
    let (runtime, accessors) = (input.runtime(), context::accessors(input));
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;
            #implemented
            #accessors
        };
    }
}

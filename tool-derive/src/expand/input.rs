//! `#[derive(DynamicInput)]`: a struct whose fields are judged where it is nested.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{as_input, context, dynamic::asking, fields};
use crate::model::Tool;

/// What `#[derive(DynamicInput)]` makes of a struct.
pub(crate) fn expand(input: &Tool) -> TokenStream {
    let (runtime, ident, name) = (input.runtime(), &input.marker, &input.name);
    let (statics, fields) = fields::fields(input);
    let values = fields::input(input);
    let wants = wants(input);
    let asking = asking(input, &quote!(__rt::Lent<'a, Self>), |nested| {
        let ones = std::iter::repeat_n(quote!(1), nested + 1);
        quote!(#(#ones.)* 0)
    });
    let accessors = context::accessors(input);
    let body = quote! {
        type Wants = #wants;
        const KEEP: __rt::Keep = {
            #[allow(unused_imports)]
            use __rt::NotWhole as _;
            __rt::Whole::<#ident>::KEEP
        };

        fn def() -> &'static __rt::Def {
            #statics
            static __DEF: __rt::Def = __rt::Def::new(#name, "", #fields, __rt::Returned::described(|_| ::core::option::Option::None));
            &__DEF
        }

        #values
        #asking
    };
    implemented(&runtime, ident, &body, &accessors)
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
    };
    implemented(&input.runtime(), &input.marker, &body, &context::accessors(input))
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

fn implemented(runtime: &TokenStream, ident: &Ident, body: &TokenStream, accessors: &TokenStream) -> TokenStream {
    quote! {
        #[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
        const _: () = {
            use #runtime as __rt;

            #[automatically_derived]
            impl __rt::DynamicInput for #ident { #body }

            #accessors
        };
    }
}

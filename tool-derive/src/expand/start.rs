//! How a call is started, and where its state comes from.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Type, spanned::Spanned as _};

use super::{
    as_input, dynamic, fields, hidden, nested,
    work::{Given, begun, called, is_looked_at, taken},
};
use crate::model::{Body, Tool};

/// How a call is started: with the state that it needs, or without.
pub(crate) fn work(tool: &Tool) -> TokenStream {
    let marker = &tool.marker;
    if !tool.takes_state() && !tool.is_asking() {
        let [input, cx] = ["_input", "_cx"].map(hidden);
        let (values, value) = fields::given(tool);
        let (input, work) = match &tool.body {
            Body::Fn(function) if !is_looked_at(tool) => (None, called(tool, function, Given::Slots)),
            _ => (Some(quote!(let #input = #value;)), done(tool, Access::Provided)),
        };
        let begun = begun(tool, &work);
        return quote! {
            #[automatically_derived]
            impl __rt::Free for #marker {
                fn begin<'a>(#values: <Self as __rt::Tool>::Values, #cx: &'a __rt::Context) -> __rt::Started<'a> {
                    #input
                    #begun
                }
            }
        };
    }
    let (prepared, state, bounds) = (prepared(tool), hidden("state"), bounds(tool));
    let (name, param) = (quote!(__start<'a, __S>), quote!(#state: &'a __S));
    let (function, start) = started(tool, Access::Provided, &name, &param, &bounds, &quote!(__start::<__S>));
    quote! {
        #prepared
        #function

        #[automatically_derived]
        impl<__S: 'static> __rt::Bind<__S> for #marker #bounds {
            const PART: __rt::Part<__S> = __rt::Part { def: <Self as __rt::Tool>::def, start: #start };
        }
    }
}

/// What the start of a call rests on: validators, or `fn __work` of a function that takes something from the state, whose
/// first parameters are what it takes.
fn prepared(tool: &Tool) -> TokenStream {
    if tool.is_asking() {
        return dynamic::validators(tool);
    }
    let (Body::Fn(function), marker) = (&tool.body, &tool.marker) else { return TokenStream::new() };
    let [cx, input] = ["_cx", "_input"].map(hidden);
    let params = taken(tool).enumerate().map(|(index, ty)| {
        let state = hidden(&format!("state{index}"));
        quote!(#state: &'a #ty)
    });
    let work = called(tool, function, Given::Input);
    quote! {
        #[allow(unused_variables)]
        fn __work<'a>(#(#params,)* #input: #marker, #cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
            #work
        }
    }
}

/// Where a function's state comes from.
#[derive(Clone, Copy)]
enum Access {
    /// From an application's state, as the compiler checks.
    Provided,
    /// From the states of collected tools, as `Toolset::collect` checks.
    Collected,
}

impl Access {
    fn of(self, ty: &Type, state: &syn::Ident) -> TokenStream {
        match self {
            Self::Provided => quote!(__rt::Provide::<#ty>::provide(#state)),
            Self::Collected => quote!(#state.get::<#ty>()),
        }
    }

    /// What a nested parameter takes.
    fn lent(self, ty: &Type, state: &syn::Ident) -> TokenStream {
        let wants = wants(ty);
        match self {
            Self::Provided => quote_spanned!(ty.span()=> __rt::Lend::<#wants>::lend(#state)),
            Self::Collected => quote_spanned!(ty.span()=> __rt::Collect::<#wants>::taken(#state)),
        }
    }
}

/// What hands the tool to the linker; compiled only where tools are collected.
pub(crate) fn collected(tool: &Tool) -> TokenStream {
    if !cfg!(feature = "collect") {
        return TokenStream::new();
    }
    let (state, marker) = (hidden("state"), &tool.marker);
    if !tool.takes_state() && !tool.is_asking() {
        return quote! {
            __rt::collect! {
                __rt::inventory::submit! {
                    __rt::Collected {
                        def: &__DEF,
                        start: <#marker as __rt::Bind<__rt::States>>::PART.start,
                        needs: ::std::vec::Vec::new,
                    }
                }
            }
        };
    }
    let param = quote!(#state: &'a __rt::States);
    let mut inputs = nested(tool);
    inputs.extend(tool.nested().map(wants).map(|wants| quote!(for<'__n> __rt::States: __rt::Collect<#wants>)));
    let (name, bounds) = (quote!(__collected<'a>), quote!(where #(#inputs),*));
    let (function, mut started) = started(tool, Access::Collected, &name, &param, &bounds, &quote!(__collected));
    let states = tool.states();
    let mut needs = quote!(::std::vec![#(__rt::need::<#states>()),*]);
    let wanted: Vec<_> = tool.nested().map(wants).collect();
    let mut lent = TokenStream::new();
    if !wanted.is_empty() {
        // Of nested parameters that are no inputs is told elsewhere: an inherent constant is found before a trait's.
        let all = hidden("_all");
        lent = quote! {
            struct __Lent;

            impl __Lent where #(#inputs),* {
                const START: __rt::Start<__rt::States> = #started;

                fn needs(#all: &mut ::std::vec::Vec<(::core::any::TypeId, &'static ::core::primitive::str)>) {
                    #(<__rt::States as __rt::Collect<#wanted>>::needs(#all);)*
                }
            }

            trait __Unlent {
                const START: __rt::Start<__rt::States> =
                    __rt::Start::Asking(|_, _, _| ::core::unreachable!("this does not compile"));

                fn needs(_: &mut ::std::vec::Vec<(::core::any::TypeId, &'static ::core::primitive::str)>) {}
            }

            impl __Unlent for __Lent {}
        };
        started = quote!(__Lent::START);
        needs = quote!({
            let mut #all = #needs;
            __Lent::needs(&mut #all);
            #all
        });
    }
    quote! {
        __rt::collect! {
            #function
            #lent
            __rt::inventory::submit! {
                __rt::Collected {
                    def: &__DEF,
                    start: #started,
                    needs: || #needs,
                }
            }
        }
    }
}

/// The function, with this head, that starts a call of a tool that takes state or asks validators; and the `Start` that
/// `called` with this name.
fn started(
    tool: &Tool,
    access: Access,
    name: &TokenStream,
    param: &TokenStream,
    bounds: &TokenStream,
    called: &TokenStream,
) -> (TokenStream, TokenStream) {
    let [state, text, cx, input] = ["state", "text", "_cx", "_input"].map(hidden);
    let marker = &tool.marker;
    if tool.is_asking() {
        let types = dynamic::states(tool);
        let lent = |tool: &Tool| tool.nested().map(|ty| access.lent(ty, &state)).collect::<Vec<_>>();
        let own = || taken(tool).map(|ty| access.of(ty, &state));
        let inside: Vec<_> = match &tool.union {
            Some(union) => {
                // As `Wanted` puts them.
                let own = own().next().unwrap_or_else(|| quote!(()));
                let all = |(_, variant): &(_, Tool)| {
                    let rest = lent(variant).into_iter().rev().fold(quote!(()), |rest, lent| quote!((#lent, #rest)));
                    quote!((#own, #rest))
                };
                union.variants.iter().map(all).collect()
            }
            None => lent(tool),
        };
        let values = own().chain(inside);
        let settling = quote::format_ident!("{}", if tool.union.is_some() { "Choosing" } else { "Settling" });
        let function = quote! {
            #[allow(unused_variables)]
            fn #name(
                #param,
                #text: &'a str,
                #cx: &'a __rt::Context,
            ) -> __rt::BoxFuture<'a, ::core::result::Result<__rt::Started<'a>, __rt::Refused>>
            #bounds
            {
                #[allow(unused_imports)]
                use __rt::NotSettling as _;
                __rt::#settling::<#marker, (#(#types,)*)>::settle(#text, (#(#values,)*), #cx)
            }
        };
        return (function, quote!(__rt::Start::Asking(#called)));
    }
    let (values, value) = fields::given(tool);
    let begun = begun(tool, &done(tool, access));
    let function = quote! {
        #[allow(unused_variables)]
        fn #name(
            #param,
            #values: <#marker as __rt::Tool>::Values,
            #cx: &'a __rt::Context,
        ) -> __rt::Started<'a>
        #bounds
        {
            let #input = #value;
            #begun
        }
    };
    (function, quote!(__rt::Start::On(&__rt::BeginOn(#called))))
}

/// The boxed work.
fn done(tool: &Tool, access: Access) -> TokenStream {
    let [state, cx, input] = ["state", "_cx", "_input"].map(hidden);
    match &tool.body {
        Body::Fn(function) if taken(tool).next().is_none() => called(tool, function, Given::Input),
        Body::Fn(_) => {
            let states = taken(tool).map(|ty| access.of(ty, &state));
            quote!({ __work(#(#states,)* #input, #cx) })
        }
        Body::Struct => executed(tool, taken(tool).next().map(|ty| access.of(ty, &state))),
    }
}

/// The boxed work of a struct, with the state that it takes.
pub(super) fn executed(tool: &Tool, state: Option<TokenStream>) -> TokenStream {
    let [cx, input] = ["_cx", "_input"].map(hidden);
    if tool.options.external.is_some() {
        return quote!({ __rt::outside() });
    }
    let state = state.unwrap_or_else(|| quote!(&()));
    quote!({ __OUTPUT.start(#input, #state, #cx) })
}

/// What the state must provide.
fn bounds(tool: &Tool) -> TokenStream {
    let states = tool.states();
    let provides = states.iter().map(|ty| quote_spanned!(ty.span()=> __S: __rt::Provide<#ty>));
    let lends = tool.nested().map(|ty| {
        let wants = wants(ty);
        quote_spanned!(ty.span()=> __S: __rt::Lend<#wants>)
    });
    let all = provides.chain(lends).chain(nested(tool));
    quote!(where #(#all),*)
}

/// What a nested parameter takes of the state.
fn wants(ty: &Type) -> TokenStream {
    let input = as_input(ty);
    quote_spanned!(ty.span()=> #input::Wants)
}

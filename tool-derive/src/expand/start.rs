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
                #[inline]
                fn begin<'a>(#values: <Self as __rt::Tool>::Values, #cx: &'a __rt::Context) -> __rt::Started<'a> {
                    #input
                    #begun
                }
            }
        };
    }
    let (prepared, state, bounds) = (prepared(tool), hidden("state"), bounds(tool));
    let (variant, started) = started(tool, Access::Provided);
    let start = function(tool, &quote!(__start<'a, __S>), &quote!(#state: &'a __S), &bounds, &started);
    quote! {
        #prepared
        #start

        #[automatically_derived]
        impl<__S: 'static> __rt::Bind<__S> for #marker #bounds {
            const PART: __rt::Part<__S> =
                __rt::Part { def: <Self as __rt::Tool>::def, start: __rt::Start::#variant(__start::<__S>) };
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
    let [state, text, cx] = ["state", "text", "_cx"].map(hidden);
    let marker = &tool.marker;
    let (variant, started) = if tool.takes_state() || tool.is_asking() {
        started(tool, Access::Collected)
    } else {
        (quote!(On), quote!(__rt::start::<#marker>(#text, #cx)))
    };
    let param = quote!(#state: &'a __rt::States);
    let mut inputs = nested(tool);
    inputs.extend(tool.nested().map(wants).map(|wants| quote!(for<'__n> __rt::States: __rt::Collect<#wants>)));
    let start = function(tool, &quote!(__collected<'a>), &param, &quote!(where #(#inputs),*), &started);
    let states = tool.states();
    let mut needs = quote!(::std::vec![#(__rt::need::<#states>()),*]);
    let mut started = quote!(__rt::Start::#variant(__collected));
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
                    __rt::Start::On(|_, _, _| ::core::unreachable!("this does not compile"));

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
            #start
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

fn function(
    tool: &Tool,
    name: &TokenStream,
    param: &TokenStream,
    bounds: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let (text, cx) = (hidden("text"), hidden("_cx"));
    let mut returns = quote!(::core::result::Result<__rt::Started<'a>, __rt::Refused>);
    if tool.is_asking() {
        returns = quote!(__rt::BoxFuture<'a, #returns>);
    }
    quote! {
        #[allow(unused_variables)]
        fn #name (#param, #text: &'a str, #cx: &'a __rt::Context) -> #returns
        #bounds
        {
            #body
        }
    }
}

/// The accepted call of a tool that takes state or asks validators, and the variant of `Start` that it is for.
fn started(tool: &Tool, access: Access) -> (TokenStream, TokenStream) {
    let [state, text, cx, input, refused] = ["state", "text", "_cx", "_input", "refused"].map(hidden);
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
        let settled = quote! {
            #[allow(unused_imports)]
            use __rt::NotSettling as _;
            __rt::#settling::<#marker, (#(#types,)*)>::settle(#text, (#(#values,)*), #cx)
        };
        return (quote!(Asking), settled);
    }
    let begun = begun(tool, &done(tool, access));
    let started = quote! {
        let #input = match <#marker as __rt::Tool>::decode(#text, #cx) {
            ::core::result::Result::Ok(#input) => #input,
            ::core::result::Result::Err(#refused) => return ::core::result::Result::Err(#refused),
        };
        ::core::result::Result::Ok(#begun)
    };
    (quote!(On), started)
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

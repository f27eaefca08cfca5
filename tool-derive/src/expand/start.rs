//! The start of a call, and the source of its state.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Type, spanned::Spanned as _};

use super::{
    as_input,
    dynamic::{asking_impl, given_types},
    fields::field_pattern,
    hidden, nested_bounds,
    work::{Given, call_expr, is_looked_at, started_expr},
};
use crate::model::{Body, Function, Input, Params, Start, ToolDef, Variant};

/// Returns the implementation that starts a call: `Stateless`, or `WithState` for every state that provides what the tool takes.
pub fn start_impl(tool: &ToolDef) -> TokenStream {
    let prepared = match (tool.start, &tool.body, &tool.input) {
        (Start::Free, _, Input::Params(params)) => return free_impl(tool, params),
        (Start::Asking, ..) => asking_impl(tool),
        (_, Body::Function(function), _) => work_fn(tool, function),
        (_, Body::Struct { .. } | Body::External { .. }, _) => TokenStream::new(),
    };
    let bind = bind_impl(tool);
    quote!(#prepared #bind)
}

/// Returns `impl Stateless`, for a tool without state and validators.
fn free_impl(tool: &ToolDef, params: &Params) -> TokenStream {
    let marker = &tool.head.ident;
    let [input, cx] = ["_input", "_cx"].map(hidden);
    let (values, value) = field_pattern(params);
    let (input, work) = match &tool.body {
        Body::Function(function) if !is_looked_at(tool) => (None, call_expr(tool, function, Given::Slots)),
        _ => (Some(quote!(let #input = #value;)), work_expr(tool, Access::Provided)),
    };
    let started = started_expr(tool, &work);
    quote! {
        #[automatically_derived]
        impl __rt::Stateless for #marker {
            fn begin<'a>(#values: <Self as __rt::Tool>::Values, #cx: &'a __rt::Context) -> __rt::StartedCall<'a> {
                #input
                #started
            }
        }
    }
}

/// Returns `fn __work` of a function with state. Its first parameters are the parts of the state.
fn work_fn(tool: &ToolDef, function: &Function) -> TokenStream {
    let marker = &tool.head.ident;
    let [cx, input] = ["_cx", "_input"].map(hidden);
    let params = tool.body.state_types().enumerate().map(|(index, ty)| {
        let state = hidden(&format!("state{index}"));
        quote!(#state: &'a #ty)
    });
    let work = call_expr(tool, function, Given::Input);
    quote! {
        #[allow(unused_variables)]
        fn __work<'a>(#(#params,)* #input: #marker, #cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
            #work
        }
    }
}

/// Returns `impl WithState`, and the function that starts a call.
fn bind_impl(tool: &ToolDef) -> TokenStream {
    let (marker, access) = (&tool.head.ident, Access::Provided);
    let (function, start, bounds) = (start_fn(tool, access), access.start(tool), access.bounds(tool));
    quote! {
        #function

        #[automatically_derived]
        impl<__S: 'static> __rt::WithState<__S> for #marker #bounds {
            const BINDING: __rt::Binding<__S> = __rt::Binding { def: <Self as __rt::Tool>::def, start: #start };
        }
    }
}

/// The source of a function's state.
#[derive(Clone, Copy)]
enum Access {
    /// An application's state, checked by the compiler.
    Provided,
    /// The states of collected tools, checked by `Toolset::collect`.
    Collected,
}

impl Access {
    /// Returns the `Start` that calls what [`start_fn`] returns.
    fn start(self, tool: &ToolDef) -> TokenStream {
        let function = match self {
            Self::Provided => quote!(__start::<__S>),
            Self::Collected => quote!(__collected),
        };
        match tool.start {
            Start::Asking => quote!(__rt::Start::Asking(#function)),
            Start::Free | Start::Bound => quote!(__rt::Start::On(&__rt::BeginWithState(#function))),
        }
    }

    /// Returns the bounds on the state.
    fn bounds(self, tool: &ToolDef) -> TokenStream {
        let inputs = nested_bounds(tool.nested());
        match self {
            Self::Provided => {
                let states = tool.states();
                let provides = states.iter().map(|ty| quote_spanned!(ty.span()=> __S: __rt::Provide<#ty>));
                let lends = tool.nested().map(|ty| {
                    let wants = nested_state(ty);
                    quote_spanned!(ty.span()=> __S: __rt::Lend<#wants>)
                });
                let all = provides.chain(lends).chain(inputs);
                quote!(where #(#all),*)
            }
            Self::Collected => {
                let wanted = tool.nested().map(nested_state);
                let collects = wanted.map(|wants| quote!(for<'__n> __rt::States: __rt::Collect<#wants>));
                let all = inputs.into_iter().chain(collects);
                quote!(where #(#all),*)
            }
        }
    }

    /// Returns the state of type `ty`.
    fn state_expr(self, ty: &Type) -> TokenStream {
        let state = hidden("state");
        match self {
            Self::Provided => quote!(__rt::Provide::<#ty>::provide(#state)),
            Self::Collected => quote!(#state.get::<#ty>()),
        }
    }

    /// Returns a nested parameter's part of the state.
    fn lent_expr(self, ty: &Type) -> TokenStream {
        let (state, wants) = (hidden("state"), nested_state(ty));
        match self {
            Self::Provided => quote_spanned!(ty.span()=> __rt::Lend::<#wants>::lend(#state)),
            Self::Collected => quote_spanned!(ty.span()=> __rt::Collect::<#wants>::taken(#state)),
        }
    }
}

/// Returns the item that registers the tool with the linker; compiled only with the feature `collect`.
pub fn collect_item(tool: &ToolDef) -> TokenStream {
    if !cfg!(feature = "collect") {
        return TokenStream::new();
    }
    let marker = &tool.head.ident;
    if tool.start == Start::Free {
        return quote! {
            __rt::collect! {
                __rt::inventory::submit! {
                    __rt::Collected {
                        def: &__DEF,
                        start: <#marker as __rt::WithState<__rt::States>>::BINDING.start,
                        needs: ::std::vec::Vec::new,
                    }
                }
            }
        };
    }
    let function = start_fn(tool, Access::Collected);
    let states = tool.states();
    let mut start = Access::Collected.start(tool);
    let mut needs = quote!(::std::vec![#(__rt::need::<#states>()),*]);
    let mut lent = None;
    if tool.nested().next().is_some() {
        let all = hidden("_all");
        lent = Some(nested_items(tool, &start));
        start = quote!(__Lent::START);
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
                    start: #start,
                    needs: || #needs,
                }
            }
        }
    }
}

/// Returns the items of a collected tool for its nested parameters. An error about a type that is not an input is reported
/// elsewhere: the compiler finds an inherent constant before a trait's.
fn nested_items(tool: &ToolDef, start: &TokenStream) -> TokenStream {
    let (all, bounds) = (hidden("_all"), Access::Collected.bounds(tool));
    let wanted = tool.nested().map(nested_state);
    quote! {
        struct __Lent;

        impl __Lent #bounds {
            const START: __rt::Start<__rt::States> = #start;

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
    }
}

/// Returns the function that starts a call of a tool with state or validators.
fn start_fn(tool: &ToolDef, access: Access) -> TokenStream {
    let (name, state_type) = match access {
        Access::Provided => (quote!(__start<'a, __S>), quote!(__S)),
        Access::Collected => (quote!(__collected<'a>), quote!(__rt::States)),
    };
    let bounds = access.bounds(tool);
    let [state, text, cx, input] = ["state", "text", "_cx", "_input"].map(hidden);
    let marker = &tool.head.ident;
    let params = match &tool.input {
        Input::Params(params) if tool.start != Start::Asking => params,
        _ => {
            let settled = settle_expr(tool, access);
            return quote! {
                #[allow(unused_variables)]
                fn #name(
                    #state: &'a #state_type,
                    #text: &'a str,
                    #cx: &'a __rt::Context,
                ) -> __rt::BoxFuture<'a, ::core::result::Result<__rt::StartedCall<'a>, __rt::DecodeError>>
                #bounds
                {
                    #[allow(unused_imports)]
                    use __rt::SettlingFallback as _;
                    #settled
                }
            };
        }
    };
    let (values, value) = field_pattern(params);
    let started = started_expr(tool, &work_expr(tool, access));
    quote! {
        #[allow(unused_variables)]
        fn #name(
            #state: &'a #state_type,
            #values: <#marker as __rt::Tool>::Values,
            #cx: &'a __rt::Context,
        ) -> __rt::StartedCall<'a>
        #bounds
        {
            let #input = #value;
            #started
        }
    }
}

/// Returns the call that asks the validators, with the state for them and for the work.
fn settle_expr(tool: &ToolDef, access: Access) -> TokenStream {
    let [text, cx] = ["text", "_cx"].map(hidden);
    let (marker, types) = (&tool.head.ident, given_types(tool));
    let own: Vec<_> = tool.body.state_types().map(|ty| access.state_expr(ty)).collect();
    match &tool.input {
        Input::Params(params) => {
            let nested = params.nested().map(|ty| access.lent_expr(ty));
            quote!(__rt::Settling::<#marker, (#(#types,)*)>::settle(#text, (#(#own,)* #(#nested,)*), #cx))
        }
        Input::Enum(union) => {
            let nested = union.variants.iter().map(|variant| variant_expr(variant, access));
            quote!(__rt::Choosing::<#marker, (#(#types,)*)>::settle(#text, (#(#own,)* #(#nested,)*), #cx))
        }
    }
}

/// Returns a variant's part of the state, in the form of `Wanted`.
fn variant_expr(variant: &Variant, access: Access) -> TokenStream {
    let own = variant.state.as_ref().map_or_else(|| quote!(()), |ty| access.state_expr(ty));
    let nested: Vec<_> = variant.params.nested().map(|ty| access.lent_expr(ty)).collect();
    let rest = nested.into_iter().rev().fold(quote!(()), |rest, lent| quote!((#lent, #rest)));
    quote!((#own, #rest))
}

/// Returns the boxed work.
fn work_expr(tool: &ToolDef, access: Access) -> TokenStream {
    let [cx, input] = ["_cx", "_input"].map(hidden);
    let mut states = tool.body.state_types().map(|ty| access.state_expr(ty));
    match &tool.body {
        Body::Function(function) if tool.start == Start::Free => call_expr(tool, function, Given::Input),
        Body::Function(_) => quote!({ __work(#(#states,)* #input, #cx) }),
        Body::Struct { .. } | Body::External { .. } => execute_expr(tool, states.next()),
    }
}

/// Returns the boxed work of a struct, with its state.
pub fn execute_expr(tool: &ToolDef, state: Option<TokenStream>) -> TokenStream {
    if matches!(tool.body, Body::External { .. }) {
        return quote!({ __rt::outside() });
    }
    let [cx, input] = ["_cx", "_input"].map(hidden);
    let state = state.unwrap_or_else(|| quote!(&()));
    quote!({ __OUTPUT.start(#input, #state, #cx) })
}

/// Returns the type of a nested parameter's part of the state.
fn nested_state(ty: &Type) -> TokenStream {
    let input = as_input(ty);
    quote_spanned!(ty.span()=> #input::Wants)
}

//! The start of a call, and the source of its state.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Type, spanned::Spanned as _};

use super::{
    fields::field_pattern,
    tokens::{as_input, hidden_ident, nested_bounds},
    validators::{state_part_types, validators_impl},
    variants::variants_impl,
    work::{ParamForm, accepted_call_expr, function_work_expr, is_input_inspected, struct_work_expr},
};
use crate::declaration::{Body, Function, Input, Params, Start, ToolDef, Variant};

/// Returns `impl Stateless`, or `impl WithState<S>` for each `S` that provides the tool's states.
pub fn start_impl(tool: &ToolDef) -> TokenStream {
    let prepared = match (tool.start, &tool.body, &tool.input) {
        (Start::Stateless, _, Input::Params(params)) => return stateless_impl(tool, params),
        (Start::Validated, _, Input::Params(_)) => validators_impl(tool),
        (Start::Validated, _, Input::Enum(enum_input)) => variants_impl(tool, enum_input),
        (_, Body::Function(function), _) => work_fn(tool, function),
        (_, Body::Struct { .. } | Body::External { .. }, _) => TokenStream::new(),
    };
    let with_state = with_state_impl(tool);
    quote!(#prepared #with_state)
}

/// Returns `impl Stateless`, for a tool without state and validators.
fn stateless_impl(tool: &ToolDef, params: &Params) -> TokenStream {
    let tool_type = &tool.head.ident;
    let [input, cx] = ["_input", "_cx"].map(hidden_ident);
    let (values, value) = field_pattern(params);
    let (input, work) = match &tool.body {
        Body::Function(function) if !is_input_inspected(tool) => {
            (None, function_work_expr(tool, function, ParamForm::Slots))
        }
        _ => (Some(quote!(let #input = #value;)), work_expr(tool, StateSource::Provided)),
    };
    let accepted_call = accepted_call_expr(tool, &work);
    quote! {
        #[automatically_derived]
        impl __rt::Stateless for #tool_type {
            fn begin<'a>(#values: <Self as __rt::Tool>::Values, #cx: &'a __rt::Context) -> __rt::AcceptedCall<'a> {
                #input
                #accepted_call
            }
        }
    }
}

/// Returns `fn __work`, which calls a function with state. The first parameters of `__work` are the parts of the state.
fn work_fn(tool: &ToolDef, function: &Function) -> TokenStream {
    let tool_type = &tool.head.ident;
    let [cx, input] = ["_cx", "_input"].map(hidden_ident);
    let params = tool.body.state_types().enumerate().map(|(index, ty)| {
        let state = hidden_ident(&format!("state{index}"));
        quote!(#state: &'a #ty)
    });
    let work = function_work_expr(tool, function, ParamForm::Input);
    quote! {
        #[allow(unused_variables)]
        fn __work<'a>(#(#params,)* #input: #tool_type, #cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
            #work
        }
    }
}

/// Returns `impl WithState`, and the function that starts a call.
fn with_state_impl(tool: &ToolDef) -> TokenStream {
    let (tool_type, source) = (&tool.head.ident, StateSource::Provided);
    let (function, start, bounds) = (start_fn(tool, source), source.start_expr(tool), source.bounds(tool));
    quote! {
        #function

        #[automatically_derived]
        impl<__S: 'static> __rt::WithState<__S> for #tool_type #bounds {
            const BINDING: __rt::Binding<__S> = __rt::Binding { def: <Self as __rt::Tool>::def, start: #start };
        }
    }
}

/// The source of the state of a call.
#[derive(Clone, Copy)]
enum StateSource {
    /// The state in `toolset!`. The compiler checks that it provides what the tool needs.
    Provided,
    /// The states of collected tools. `Toolset::collect` checks them.
    Collected,
}

impl StateSource {
    /// Returns a `Start` that calls the function of [`start_fn`].
    fn start_expr(self, tool: &ToolDef) -> TokenStream {
        let function = match self {
            Self::Provided => quote!(__start::<__S>),
            Self::Collected => quote!(__collected),
        };
        match tool.start {
            Start::Validated => quote!(__rt::Start::Validated(#function)),
            Start::Stateless | Start::WithState => quote!(__rt::Start::WithState(&__rt::BeginWithState(#function))),
        }
    }

    /// Returns the bounds on the state.
    fn bounds(self, tool: &ToolDef) -> TokenStream {
        let inputs = nested_bounds(tool.nested_types());
        match self {
            Self::Provided => {
                let states = tool.distinct_state_types();
                let provides = states.iter().map(|ty| quote_spanned!(ty.span()=> __S: __rt::Provide<#ty>));
                let lends = tool.nested_types().map(|ty| {
                    let wants = nested_state_type(ty);
                    quote_spanned!(ty.span()=> __S: __rt::ProvideNested<#wants>)
                });
                let all = provides.chain(lends).chain(inputs);
                quote!(where #(#all),*)
            }
            Self::Collected => {
                let wanted = tool.nested_types().map(nested_state_type);
                let collects = wanted.map(|wants| quote!(for<'__n> __rt::States: __rt::Collect<#wants>));
                let all = inputs.into_iter().chain(collects);
                quote!(where #(#all),*)
            }
        }
    }

    /// Returns the expression of the state of type `ty`.
    fn state_expr(self, ty: &Type) -> TokenStream {
        let state = hidden_ident("state");
        match self {
            Self::Provided => quote!(__rt::Provide::<#ty>::provide(#state)),
            Self::Collected => quote!(#state.get::<#ty>()),
        }
    }

    /// Returns the expression of a nested parameter's part of the state.
    fn lent_expr(self, ty: &Type) -> TokenStream {
        let (state, wants) = (hidden_ident("state"), nested_state_type(ty));
        match self {
            Self::Provided => quote_spanned!(ty.span()=> __rt::ProvideNested::<#wants>::lend(#state)),
            Self::Collected => quote_spanned!(ty.span()=> __rt::Collect::<#wants>::taken(#state)),
        }
    }
}

/// Returns the item that registers the tool with the linker; nothing without the feature `collect`.
pub fn collect_item(tool: &ToolDef) -> TokenStream {
    if !cfg!(feature = "collect") {
        return TokenStream::new();
    }
    let tool_type = &tool.head.ident;
    if tool.start == Start::Stateless {
        return quote! {
            __rt::collect! {
                __rt::inventory::submit! {
                    __rt::Collected {
                        def: &__DEF,
                        start: <#tool_type as __rt::WithState<__rt::States>>::BINDING.start,
                        needs: ::std::vec::Vec::new,
                    }
                }
            }
        };
    }
    let function = start_fn(tool, StateSource::Collected);
    let states = tool.distinct_state_types();
    let mut start = StateSource::Collected.start_expr(tool);
    let mut needs = quote!(::std::vec![#(__rt::need::<#states>()),*]);
    let mut lent = None;
    if tool.nested_types().next().is_some() {
        let all = hidden_ident("_all");
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

/// Returns the items that start a collected tool with nested parameters. If the type of one does not derive `DynamicInput`, the
/// trait `__Unlent` supplies the items, and another item reports the error.
fn nested_items(tool: &ToolDef, start: &TokenStream) -> TokenStream {
    let (all, bounds) = (hidden_ident("_all"), StateSource::Collected.bounds(tool));
    let wanted = tool.nested_types().map(nested_state_type);
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
                __rt::Start::Validated(|_, _, _| ::core::unreachable!("this does not compile"));

            fn needs(_: &mut ::std::vec::Vec<(::core::any::TypeId, &'static ::core::primitive::str)>) {}
        }

        impl __Unlent for __Lent {}
    }
}

/// Returns the function that starts a call of a tool with state or validators.
fn start_fn(tool: &ToolDef, source: StateSource) -> TokenStream {
    let (name, state_type) = match source {
        StateSource::Provided => (quote!(__start<'a, __S>), quote!(__S)),
        StateSource::Collected => (quote!(__collected<'a>), quote!(__rt::States)),
    };
    let bounds = source.bounds(tool);
    let [state, text, cx, input] = ["state", "text", "_cx", "_input"].map(hidden_ident);
    let tool_type = &tool.head.ident;
    let params = match &tool.input {
        Input::Params(params) if tool.start != Start::Validated => params,
        _ => {
            let settled = settle_expr(tool, source);
            return quote! {
                #[allow(unused_variables)]
                fn #name(
                    #state: &'a #state_type,
                    #text: &'a ::core::primitive::str,
                    #cx: &'a __rt::Context,
                ) -> __rt::BoxFuture<'a, ::core::result::Result<__rt::AcceptedCall<'a>, __rt::DecodeError>>
                #bounds
                {
                    #[allow(unused_imports)]
                    use __rt::ArgumentValidationFallback as _;
                    #settled
                }
            };
        }
    };
    let (values, value) = field_pattern(params);
    let accepted_call = accepted_call_expr(tool, &work_expr(tool, source));
    quote! {
        #[allow(unused_variables)]
        fn #name(
            #state: &'a #state_type,
            #values: <#tool_type as __rt::Tool>::Values,
            #cx: &'a __rt::Context,
        ) -> __rt::AcceptedCall<'a>
        #bounds
        {
            let #input = #value;
            #accepted_call
        }
    }
}

/// Returns the expression that validates the arguments, with the state for the validators and for the work.
fn settle_expr(tool: &ToolDef, source: StateSource) -> TokenStream {
    let [text, cx] = ["text", "_cx"].map(hidden_ident);
    let (tool_type, types) = (&tool.head.ident, state_part_types(tool));
    let own: Vec<_> = tool.body.state_types().map(|ty| source.state_expr(ty)).collect();
    match &tool.input {
        Input::Params(params) => {
            let nested = params.nested_types().map(|ty| source.lent_expr(ty));
            quote!(__rt::ArgumentValidation::<#tool_type, (#(#types,)*)>::settle(#text, (#(#own,)* #(#nested,)*), #cx))
        }
        Input::Enum(enum_input) => {
            let nested = enum_input.variants.iter().map(|variant| variant_state_expr(variant, source));
            quote!(__rt::VariantValidation::<#tool_type, (#(#types,)*)>::settle(#text, (#(#own,)* #(#nested,)*), #cx))
        }
    }
}

/// Returns the expression of a variant's part of the state, in the form of `StateParts`.
fn variant_state_expr(variant: &Variant, source: StateSource) -> TokenStream {
    let own = variant.state.as_ref().map_or_else(|| quote!(()), |ty| source.state_expr(ty));
    let nested: Vec<_> = variant.params.nested_types().map(|ty| source.lent_expr(ty)).collect();
    let rest = nested.into_iter().rev().fold(quote!(()), |rest, lent| quote!((#lent, #rest)));
    quote!((#own, #rest))
}

/// Returns the expression of a call's work, a boxed future.
fn work_expr(tool: &ToolDef, source: StateSource) -> TokenStream {
    let [cx, input] = ["_cx", "_input"].map(hidden_ident);
    let mut states = tool.body.state_types().map(|ty| source.state_expr(ty));
    match &tool.body {
        Body::Function(function) if tool.start == Start::Stateless => {
            function_work_expr(tool, function, ParamForm::Input)
        }
        Body::Function(_) => quote!({ __work(#(#states,)* #input, #cx) }),
        Body::Struct { .. } | Body::External { .. } => struct_work_expr(tool, states.next()),
    }
}

/// Returns the state type that a nested parameter needs.
fn nested_state_type(ty: &Type) -> TokenStream {
    let input = as_input(ty);
    quote_spanned!(ty.span()=> #input::Wants)
}

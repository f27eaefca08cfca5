//! The expansion to `impl Validators`, which asks the validators of dynamic parameters before a call is accepted.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{ExprClosure, Pat, spanned::Spanned as _};

use super::{
    tokens::{as_input, hidden_ident, nested_bounds, variant_idents, witness},
    validator_context::ValidatorContext,
    work::{ParamForm, accepted_call_expr, function_work_expr, struct_work_expr},
};
use crate::declaration::{Body, DependencyGraph, Input, Param, ToolDef, ValidatorScope, is_same_ident};
use crate::syntax::params::{DerivedValue, Dynamic, ValidatorExpr, last_word_span};

/// Returns `impl Validators`.
pub fn validators_impl(tool: &ToolDef) -> TokenStream {
    let tool_type = &tool.head.ident;
    let types = state_part_types(tool);
    let first = tool.body.state_types().count();
    let validation = validation_items(tool.validator_scope(), &quote!(Self::States<'a>), |nested| {
        let index = syn::Index::from(first + nested);
        quote!(#index)
    });
    let (check, begin) = (check_fn(tool), begin_fn(tool));
    let bounds = nested_bounds(tool.nested_types());
    quote! {
        #[automatically_derived]
        impl __rt::Validators for #tool_type where #(#bounds),* {
            type States<'a> = (#(#types,)*);

            #validation
            #check
            #begin
        }
    }
}

/// Returns the types of a tool's part of the state: its own, followed by those of its nested parameters or variants.
pub fn state_part_types(tool: &ToolDef) -> Vec<TokenStream> {
    let own = tool.body.state_types().map(|ty| quote!(&'a #ty));
    match &tool.input {
        Input::Params(params) => {
            let nested = params.nested_types().map(|ty| {
                let input = as_input(ty);
                quote_spanned!(ty.span()=> <#input::Wants as __rt::StateParts>::Given<'a>)
            });
            own.chain(nested).collect()
        }
        Input::Enum(enum_input) => {
            own.chain(variant_idents(enum_input).map(|ident| quote!(__rt::NestedState<'a, #ident>))).collect()
        }
    }
}

/// Returns `KEEPS`, `NODES` and `ask`. `states` is the type of the states that validators know. `lent(n)` returns the member of
/// that type for the nested parameter number `n`, from 0.
pub fn validation_items(
    scope: ValidatorScope<'_>,
    states: &TokenStream,
    lent: impl Fn(usize) -> TokenStream,
) -> TokenStream {
    let tag = scope.tag.map(|_| quote!(__rt::Tag::KEEP));
    let keeps = tag.into_iter().chain(scope.fields.iter().map(keep_expr));
    let all: Vec<(usize, &Param)> = scope.indexed().collect();
    let order = DependencyGraph::of(scope.fields).order();
    let dynamic = || order.iter().filter_map(|&index| Some((index, all[index].1.attrs.dynamic.as_ref()?)));
    let nodes = dynamic().map(|(index, dynamic)| node_expr(&all, all[index].0, dynamic));
    let [node, given, known] = ["_node", "_given", "_known"].map(hidden_ident);
    let asked = dynamic().filter_map(|(index, dynamic)| {
        let param = all[index].1;
        if let Some(ty) = param.nested_type() {
            let lent = lent(scope.fields[..index].iter().filter(|param| param.is_nested()).count());
            let (name, input) = (&param.name, as_input(ty));
            return Some(quote_spanned!(ty.span()=> #input::validate(#name, #known, &#known.states.#lent)));
        }
        validator_expr(scope, param, dynamic)
    });
    let arms = asked.enumerate().map(|(index, asked)| quote!(#index => #asked,));
    quote! {
            const KEEPS: &'static [__rt::ValueSlot] = {
                #[allow(unused_imports)]
                use __rt::SlotWitnessFallback as _;
                &[#(#keeps),*]
            };

            const NODES: &'static [__rt::Node] = &[#(#nodes),*];

            fn ask<'a: 'b, 'b>(
                #node: ::core::primitive::usize,
                #given: ::core::option::Option<__rt::StoredValue>,
                #known: __rt::ValidatorInputs<'b, #states>,
            ) -> __rt::ValidatorAnswer<'b> {
                #[allow(unused_imports)]
                use __rt::{ReturnedFallback as _, ParameterValidatorFallback as _, ValidatorFallback as _};
                match #node {
                    #(#arms)*
                    _ => ::core::unreachable!("there are as many validators as nodes"),
                }
            }
    }
}

/// Returns the `ValueSlot` that keeps a parameter's value for validators.
fn keep_expr(param: &Param) -> TokenStream {
    if let Some(ty) = param.nested_type() {
        let input = as_input(ty);
        let keep = Ident::new(if param.is_nested_list() { "KEEP_LIST" } else { "KEEP" }, Span::call_site());
        return quote_spanned!(ty.span()=> #input::#keep);
    }
    let ty = &param.ty;
    let kind = witness(ty, "SlotWitness");
    let method = Ident::new(if param.is_dynamic() { "dynamic" } else { "fixed" }, Span::call_site());
    quote_spanned!(ty.span()=> #kind::KIND.#method())
}

/// Returns the `Node` of the dynamic parameter at the index `field`. `all` has every parameter with its index.
fn node_expr(all: &[(usize, &Param)], field: usize, dynamic: &Dynamic) -> TokenStream {
    let indexes = |names: &[Ident]| {
        let index =
            |name: &Ident| all.iter().find(|(_, param)| is_same_ident(&param.ident, name)).map(|(index, _)| *index);
        names.iter().filter_map(index).map(ToTokens::into_token_stream).collect::<Vec<_>>()
    };
    let (requires, after) = (indexes(&dynamic.options.requires), indexes(&dynamic.options.after));
    quote!(__rt::Node { field: #field, requires: &[#(#requires),*], after: &[#(#after),*] })
}

/// Returns the expression that calls a parameter's validator. The compiler reports a wrong signature at the validator's name.
fn validator_expr(scope: ValidatorScope<'_>, param: &Param, dynamic: &Dynamic) -> Option<TokenStream> {
    let context = ValidatorContext::of_param(scope, param, dynamic);
    let [given, known] = ["_given", "_known"].map(hidden_ident);
    let (ty, name) = (&param.ty, &context.name);
    let (validator, span) = match dynamic.options.validate.as_ref()? {
        ValidatorExpr::Path(path) => (path.to_token_stream(), last_word_span(&path.path)),
        ValidatorExpr::Closure(closure) => {
            let types = [quote!(::core::option::Option<#ty>), quote!(#name<'b>)];
            (typed_closure(closure, types).into_token_stream(), closure.span())
        }
    };
    let value = context.value(&known);
    let (derived, usable) = match param.derived() {
        Some(DerivedValue { ty, .. }) => {
            (ty.to_token_stream(), Some(quote_spanned!(ty.span()=> __rt::derived_data::<#ty>();)))
        }
        None => (quote!(()), None),
    };
    let answer =
        quote_spanned!(span=> __rt::Validator::<#ty, #name<'b>, #derived>::of(#validator).ask(#given, #value).settle());
    Some(match usable {
        Some(usable) => quote!({ #usable #answer }),
        None => answer,
    })
}

/// Returns the closure with these types of its parameters, except where it states a type itself.
fn typed_closure(closure: &ExprClosure, types: [TokenStream; 2]) -> ExprClosure {
    let mut closure = closure.clone();
    for (input, ty) in closure.inputs.iter_mut().zip(types) {
        if !matches!(input, Pat::Type(_)) {
            *input = Pat::Verbatim(quote!(#input: #ty));
        }
    }
    closure
}

/// Returns `check` of `Validators` or `Variants`, if the declaration has a check of the whole call.
pub fn check_fn(tool: &ToolDef) -> Option<TokenStream> {
    let path = tool.options.check.as_ref()?;
    let [input, known] = ["_input", "_known"].map(hidden_ident);
    let (tool_type, span) = (&tool.head.ident, last_word_span(&path.path));
    let context = ValidatorContext::of_check(tool.validator_scope());
    let (name, value) = (&context.name, context.value(&known));
    let checked = quote_spanned!(span=> __rt::Checker::<#tool_type, #name<'b>>::of(#path).ask(#input, #value).done());
    Some(quote! {
        fn check<'a: 'b, 'b>(
            #input: &'b #tool_type,
            #known: __rt::ValidatorInputs<'b, Self::States<'a>>,
        ) -> __rt::BoxFuture<'b, __rt::Checked> {
            #[allow(unused_imports)]
            use __rt::{CheckReturnedFallback as _, CallCheckFallback as _, CheckerFallback as _};
            #checked
        }
    })
}

/// Returns `begin` of `Validators` or `Variants`.
pub fn begin_fn(tool: &ToolDef) -> TokenStream {
    let [input, states, cx] = ["_input", "_states", "_cx"].map(hidden_ident);
    let tool_type = &tool.head.ident;
    let state_idents: Vec<_> =
        (0..tool.body.state_types().count()).map(|index| hidden_ident(&format!("state{index}"))).collect();
    let has_more = matches!(tool.input, Input::Enum(_)) || tool.nested_types().next().is_some();
    let rest = has_more.then(|| quote!(..));
    let work = match &tool.body {
        Body::Function(function) => function_work_expr(tool, function, ParamForm::Input),
        Body::Struct { .. } | Body::External { .. } => {
            struct_work_expr(tool, state_idents.first().map(ToTokens::into_token_stream))
        }
    };
    let accepted_call = accepted_call_expr(tool, &work);
    let derived = hidden_ident("_derived");
    let param = matches!(tool.input, Input::Params(_)).then(|| quote!(mut #derived: __rt::DerivedValues,));
    let scope = tool.validator_scope();
    let taken = scope.derived_args().enumerate().filter_map(|(number, arg)| {
        let is_source = |param: &Param| param.derived().is_some_and(|data| is_same_ident(&data.ident, &arg.ident));
        let (index, source) = scope.indexed().find(|(_, param)| is_source(param))?;
        let (local, ty, data) = (hidden_ident(&format!("derived{number}")), &arg.ty, &source.derived()?.ty);
        // The compiler reports another type at the argument's type.
        let mut derived = derived.clone();
        derived.set_span(derived.span().located_at(ty.span()));
        Some(quote_spanned!(ty.span()=> let #local: #ty = #derived.take::<#data>(#index);))
    });
    quote! {
        #[allow(unused_variables, unused_mut)]
        fn begin<'a>(
            #input: #tool_type,
            #states: Self::States<'a>,
            #param
            #cx: &'a __rt::Context,
        ) -> __rt::AcceptedCall<'a> {
            let (#(#state_idents,)* #rest) = #states;
            #(#taken)*
            #accepted_call
        }
    }
}

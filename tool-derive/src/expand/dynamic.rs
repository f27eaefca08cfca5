//! The expansion to `impl Validators`: the questions of a tool with dynamic parameters before a call is accepted.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    as_input,
    context::Context,
    evidence, hidden,
    input::{variant_idents, variants_impl},
    nested_bounds,
    start::execute_expr,
    work::{Given, call_expr, started_expr},
};
use crate::model::{Body, Graph, Input, Judged, Param, ToolDef, same};
use crate::syntax::params::{Dynamic, last};

/// Returns the impl that asks validators: `Validators`, or `Variants` for an enum.
pub fn asking_impl(tool: &ToolDef) -> TokenStream {
    if let Input::Enum(union) = &tool.input {
        return variants_impl(tool, union);
    }
    let marker = &tool.head.ident;
    let types = given_types(tool);
    let first = tool.body.state_types().count();
    let asking = asking_items(tool.judged(), &quote!(Self::States<'a>), |nested| {
        let index = syn::Index::from(first + nested);
        quote!(#index)
    });
    let (check, begin) = (check_fn(tool), begin_fn(tool));
    let bounds = nested_bounds(tool.nested());
    quote! {
        #[automatically_derived]
        impl __rt::Validators for #marker where #(#bounds),* {
            type States<'a> = (#(#types,)*);

            #asking
            #check
            #begin
        }
    }
}

/// Returns the types of a tool's part of the state: its own, followed by those of its nested parameters or variants.
pub fn given_types(tool: &ToolDef) -> Vec<TokenStream> {
    let own = tool.body.state_types().map(|ty| quote!(&'a #ty));
    match &tool.input {
        Input::Params(params) => {
            let nested = params.nested().map(|ty| {
                let input = as_input(ty);
                quote_spanned!(ty.span()=> <#input::Wants as __rt::Wanted>::Given<'a>)
            });
            own.chain(nested).collect()
        }
        Input::Enum(union) => own.chain(variant_idents(union).map(|ident| quote!(__rt::Lent<'a, #ident>))).collect(),
    }
}

/// Returns `KEEPS`, `NODES` and `ask`. Validators know `states`; `lent` returns the place in it of a nested parameter's part.
pub fn asking_items(judged: Judged<'_>, states: &TokenStream, lent: impl Fn(usize) -> TokenStream) -> TokenStream {
    let tag = judged.tag.map(|_| quote!(__rt::Tag::KEEP));
    let keeps = tag.into_iter().chain(judged.fields.iter().map(keep));
    let all: Vec<(usize, &Param)> = judged.placed().collect();
    let order = Graph::of(judged.fields).order();
    let dynamic = || order.iter().filter_map(|&index| Some((index, all[index].1.attrs.dynamic.as_ref()?)));
    let nodes = dynamic().map(|(index, dynamic)| node(&all, all[index].0, dynamic));
    let [node, given, known] = ["_node", "_given", "_known"].map(hidden);
    let asked = dynamic().filter_map(|(index, dynamic)| {
        let param = all[index].1;
        if param.is_nested() {
            let lent = lent(judged.fields[..index].iter().filter(|param| param.is_nested()).count());
            let (name, input) = (&param.name, as_input(&param.ty));
            return Some(quote_spanned!(param.ty.span()=> #input::judge(#name, #known, &#known.states.#lent)));
        }
        validator_expr(judged, param, dynamic)
    });
    let arms = asked.enumerate().map(|(index, asked)| quote!(#index => #asked,));
    quote! {
            const KEEPS: &'static [__rt::Keep] = {
                #[allow(unused_imports)]
                use __rt::KeepingFallback as _;
                &[#(#keeps),*]
            };

            const NODES: &'static [__rt::Node] = &[#(#nodes),*];

            fn ask<'a: 'b, 'b>(
                #node: ::core::primitive::usize,
                #given: ::core::option::Option<__rt::StoredValue>,
                #known: __rt::Known<'b, #states>,
            ) -> __rt::Asking<'b> {
                #[allow(unused_imports)]
                use __rt::{ReturnedFallback as _, AsksFallback as _, ValidatorFallback as _};
                match #node {
                    #(#arms)*
                    _ => ::core::unreachable!("there are as many validators as nodes"),
                }
            }
    }
}

/// Returns the evidence that validators can see a parameter.
fn keep(param: &Param) -> TokenStream {
    let ty = &param.ty;
    if param.is_nested() {
        let input = as_input(ty);
        return quote_spanned!(ty.span()=> #input::KEEP);
    }
    let kind = evidence(ty, "Keeping");
    let method = Ident::new(if param.is_dynamic() { "dynamic" } else { "fixed" }, Span::call_site());
    quote_spanned!(ty.span()=> #kind::KIND.#method())
}

/// Returns the node of the parameter at `field`, among `all` with their indexes.
fn node(all: &[(usize, &Param)], field: usize, dynamic: &Dynamic) -> TokenStream {
    let places = |names: &[Ident]| {
        let place = |name: &Ident| all.iter().find(|(_, param)| same(&param.ident, name)).map(|(place, _)| *place);
        names.iter().filter_map(place).map(ToTokens::into_token_stream).collect::<Vec<_>>()
    };
    let (requires, after) = (places(&dynamic.options.requires), places(&dynamic.options.after));
    quote!(__rt::Node { field: #field, requires: &[#(#requires),*], after: &[#(#after),*] })
}

/// Returns the call of a parameter's validator. An error in the validator is reported at its name.
fn validator_expr(judged: Judged<'_>, param: &Param, dynamic: &Dynamic) -> Option<TokenStream> {
    let path = dynamic.options.validate.as_ref()?;
    let context = Context::of_param(judged, param, dynamic);
    let [given, known] = ["_given", "_known"].map(hidden);
    let (ty, name, span) = (&param.ty, &context.name, last(&path.path));
    let value = context.value(&known);
    Some(quote_spanned!(span=> __rt::Validator::<#ty, #name<'b>>::of(#path).ask(#given, #value).settle()))
}

/// Returns `Validators::check`, if there is a check of the whole call.
pub fn check_fn(tool: &ToolDef) -> Option<TokenStream> {
    let path = tool.options.check.as_ref()?;
    let [input, known] = ["_input", "_known"].map(hidden);
    let (marker, span) = (&tool.head.ident, last(&path.path));
    let context = Context::of_check(tool.judged());
    let (name, value) = (&context.name, context.value(&known));
    let checked = quote_spanned!(span=> __rt::Checker::<#marker, #name<'b>>::of(#path).ask(#input, #value).done());
    Some(quote! {
        fn check<'a: 'b, 'b>(
            #input: &'b #marker,
            #known: __rt::Known<'b, Self::States<'a>>,
        ) -> __rt::BoxFuture<'b, __rt::Checked> {
            #[allow(unused_imports)]
            use __rt::{CheckReturnedFallback as _, ChecksFallback as _, CheckerFallback as _};
            #checked
        }
    })
}

/// Returns `Validators::begin`.
pub fn begin_fn(tool: &ToolDef) -> TokenStream {
    let [input, states, cx] = ["_input", "_states", "_cx"].map(hidden);
    let marker = &tool.head.ident;
    let each: Vec<_> = (0..tool.body.state_types().count()).map(|index| hidden(&format!("state{index}"))).collect();
    let has_more = matches!(tool.input, Input::Enum(_)) || tool.nested().next().is_some();
    let rest = has_more.then(|| quote!(..));
    let work = match &tool.body {
        Body::Function(function) => call_expr(tool, function, Given::Input),
        Body::Struct { .. } | Body::External { .. } => {
            execute_expr(tool, each.first().map(ToTokens::into_token_stream))
        }
    };
    let started = started_expr(tool, &work);
    quote! {
        #[allow(unused_variables)]
        fn begin<'a>(#input: #marker, #states: Self::States<'a>, #cx: &'a __rt::Context) -> __rt::StartedCall<'a> {
            let (#(#each,)* #rest) = #states;
            #started
        }
    }
}

//! `impl Validators`: what a tool with dynamic parameters asks before its calls are accepted.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    as_input,
    context::{Context, context, of_check},
    evidence, hidden, nested,
    start::executed,
    union,
    work::{Given, begun, called, taken},
};
use crate::{
    graph::{Graph, same},
    model::{Arg, Body, Tool},
    syntax::dynamic::{Dynamic, Validator, last},
};

/// All of it.
pub(super) fn validators(tool: &Tool) -> TokenStream {
    if tool.union.is_some() {
        return union::implementation(tool);
    }
    let marker = &tool.marker;
    let types = states(tool);
    let first = taken(tool).count();
    let asking = asking(tool, &quote!(Self::States<'a>), |nested| {
        let index = syn::Index::from(first + nested);
        quote!(#index)
    });
    let check = tool.options.check.as_ref().map(|path| checked(tool, path));
    let begin = begin(tool);
    let nested = nested(tool);
    quote! {
        #[automatically_derived]
        impl __rt::Validators for #marker where #(#nested),* {
            type States<'a> = (#(#types,)*);

            #asking
            #check
            #begin
        }
    }
}

/// The types of what a tool takes of the state, for itself and then for its nested parameters, or its variants.
pub(super) fn states(tool: &Tool) -> impl Iterator<Item = TokenStream> {
    let variants = union::variants(tool).map(|ident| quote!(__rt::Lent<'a, #ident>));
    let nested = tool.nested().filter(|_| tool.union.is_none()).map(|ty| {
        let input = as_input(ty);
        quote_spanned!(ty.span()=> <#input::Wants as __rt::Wanted>::Given<'a>)
    });
    taken(tool).map(|ty| quote!(&'a #ty)).chain(nested).chain(variants)
}

/// `KEEPS`, `NODES` and `ask`, which knows `states`; `lent` is the place in these of what a nested parameter takes.
pub(super) fn asking(tool: &Tool, states: &TokenStream, lent: impl Fn(usize) -> TokenStream) -> TokenStream {
    let (keeps, order) = (tool.args().map(keep), Graph::of(tool).order());
    let args: Vec<&Arg> = tool.args().collect();
    let dynamic = || order.iter().filter_map(|&place| Some((place, args[place], args[place].attrs.dynamic.as_ref()?)));
    let nodes = dynamic().map(|(place, _, dynamic)| node(&args, place, dynamic));
    let [node, given, known] = ["_node", "_given", "_known"].map(hidden);
    let asked = dynamic().filter_map(|(place, arg, dynamic)| {
        if arg.is_nested() {
            let lent = lent(args[..place].iter().filter(|arg| arg.is_nested()).count());
            let (name, input) = (&arg.name, as_input(&arg.ty));
            return Some(quote_spanned!(arg.ty.span()=> #input::judge(#name, #known, &#known.states.#lent)));
        }
        let path = dynamic.validate.as_ref()?;
        Some(asked(tool, path, arg, &context(tool, arg, dynamic)))
    });
    let arms = asked.enumerate().map(|(index, asked)| quote!(#index => #asked,));
    quote! {
            const KEEPS: &'static [__rt::Keep] = {
                #[allow(unused_imports)]
                use __rt::NotKeeping as _;
                &[#(#keeps),*]
            };

            const NODES: &'static [__rt::Node] = &[#(#nodes),*];

            fn ask<'a: 'b, 'b>(
                #node: ::core::primitive::usize,
                #given: ::core::option::Option<__rt::Kept>,
                #known: __rt::Known<'b, #states>,
            ) -> __rt::Asking<'b> {
                #[allow(unused_imports)]
                use __rt::{Later as _, NoAsk as _, NoValidator as _};
                match #node {
                    #(#arms)*
                    _ => ::core::unreachable!("there are as many validators as nodes"),
                }
            }
    }
}

/// The evidence that validators can look at a parameter.
fn keep(arg: &Arg) -> TokenStream {
    if arg.tag.is_some() {
        return quote!(__rt::Tag::KEEP);
    }
    if arg.is_nested() {
        let input = as_input(&arg.ty);
        return quote_spanned!(arg.ty.span()=> #input::KEEP);
    }
    let kind = evidence(&arg.ty, "Keeping");
    let method = Ident::new(if arg.attrs.dynamic.is_some() { "dynamic" } else { "fixed" }, Span::call_site());
    quote_spanned!(arg.ty.span()=> #kind::KIND.#method())
}

fn node(args: &[&Arg], field: usize, dynamic: &Dynamic) -> TokenStream {
    let places = |names: &[Ident]| {
        let places = names.iter().filter_map(|name| args.iter().position(|arg| same(&arg.ident, name)));
        places.map(ToTokens::into_token_stream).collect::<Vec<_>>()
    };
    let (requires, after) = (places(&dynamic.requires), places(&dynamic.after));
    quote!(__rt::Node { field: #field, requires: &[#(#requires),*], after: &[#(#after),*] })
}

/// What the validator at `path` says. What is wrong with it is said at its name.
fn asked(tool: &Tool, path: &Validator, arg: &Arg, context: &Context<'_>) -> TokenStream {
    let [given, known] = ["_given", "_known"].map(hidden);
    let (ty, name, span) = (&arg.ty, &context.name, last(&path.path));
    let value = context.value(tool, &known);
    quote_spanned!(span=> __rt::Validator::<#ty, #name<'b>>::of(#path).ask(#given, #value).settle())
}

/// `Validators::check`.
pub(super) fn checked(tool: &Tool, path: &Validator) -> TokenStream {
    let [input, known] = ["_input", "_known"].map(hidden);
    let (marker, span) = (&tool.marker, last(&path.path));
    let context = of_check(tool);
    let (name, value) = (&context.name, context.value(tool, &known));
    let said = quote_spanned!(span=> __rt::Checker::<#marker, #name<'b>>::of(#path).ask(#input, #value).told());
    quote! {
        fn check<'a: 'b, 'b>(
            #input: &'b #marker,
            #known: __rt::Known<'b, Self::States<'a>>,
        ) -> __rt::BoxFuture<'b, __rt::Checked> {
            #[allow(unused_imports)]
            use __rt::{CheckLater as _, NoCheck as _, NoChecker as _};
            #said
        }
    }
}

/// `Validators::begin`.
pub(super) fn begin(tool: &Tool) -> TokenStream {
    let [input, states, cx] = ["_input", "_states", "_cx"].map(hidden);
    let marker = &tool.marker;
    let each: Vec<_> = (0..taken(tool).count()).map(|index| hidden(&format!("state{index}"))).collect();
    let rest = (tool.union.is_some() || tool.nested().next().is_some()).then(|| quote!(..));
    let work = match &tool.body {
        Body::Fn(function) => called(tool, function, Given::Input),
        Body::Struct => executed(tool, each.first().map(ToTokens::into_token_stream)),
    };
    let begun = begun(tool, &work);
    quote! {
        #[allow(unused_variables)]
        fn begin<'a>(#input: #marker, #states: Self::States<'a>, #cx: &'a __rt::Context) -> __rt::Started<'a> {
            let (#(#each,)* #rest) = #states;
            #begun
        }
    }
}

//! What a validator knows: a struct for each, beside the tool, because users name it.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Type, ext::IdentExt};

use crate::{
    graph::same,
    model::{Arg, Input, Tool},
    syntax::{
        borrow::{borrowed, unnamed},
        dynamic::Dynamic,
    },
};

/// What one validator, or the check of the whole call, knows.
pub(super) struct Context<'t> {
    pub(super) name: Ident,
    /// What it is of, in words.
    of: String,
    pub(super) known: Vec<Known<'t>>,
}

/// One thing that is known.
pub(super) struct Known<'t> {
    pub(super) ident: &'t Ident,
    pub(super) source: Source<'t>,
}

/// What it is.
pub(super) enum Source<'t> {
    /// The accepted value of the parameter at this place, or a static one's.
    Value(usize, &'t Arg),
    /// The same of one that may not be there.
    Maybe(usize, &'t Arg),
    /// What was given.
    Raw(&'t Arg),
    /// A state, by its place among those that the tool takes.
    State(usize, &'t Type),
}

/// The context of the parameter `own`.
pub(super) fn context<'t>(tool: &'t Tool, own: &'t Arg, dynamic: &'t Dynamic) -> Context<'t> {
    let mut known: Vec<Known<'t>> = Vec::new();
    let mut add = |name: &Ident, source: fn(usize, &'t Arg) -> Source<'t>| {
        let arg = tool.args().enumerate().find(|(_, arg)| arg.tag.is_none() && same(&arg.ident, name));
        // What is named otherwise has been told.
        if let Some((place, arg)) = arg.filter(|(_, arg)| usable(&arg.ty))
            && !known.iter().any(|earlier| same(earlier.ident, name))
        {
            known.push(Known { ident: &arg.ident, source: source(place, arg) });
        }
    };
    dynamic.requires.iter().for_each(|name| add(name, Source::Value));
    dynamic.after.iter().for_each(|name| add(name, Source::Maybe));
    dynamic.hints.iter().for_each(|name| add(name, |_, arg| Source::Raw(arg)));
    let shown = |arg: &&Arg| arg.attrs.dynamic.is_none() && arg.attrs.secret.is_none() && arg.tag.is_none();
    let fixed = tool.args().filter(shown);
    fixed.for_each(|arg| add(&arg.ident, Source::Value));
    known.extend(states(tool));
    Context { name: tool.context(&own.ident), of: format!("the validator of `{}`", own.name), known }
}

/// The context of the check of the whole call.
pub(super) fn of_check(tool: &Tool) -> Context<'_> {
    Context { name: tool.check_context(), of: "the check".to_owned(), known: states(tool).collect() }
}

/// The states that a function takes, each under its own name.
fn states(tool: &Tool) -> impl Iterator<Item = Known<'_>> {
    let first = usize::from(tool.owner().is_some());
    let inputs = tool.inputs.iter().filter_map(|input| match input {
        Input::State { ident, ty, .. } => Some((ident, ty)),
        _ => None,
    });
    inputs.enumerate().filter(|(_, (_, ty))| borrowed(ty, true).is_none()).filter_map(move |(index, (ident, ty))| {
        Some(Known { ident: ident.as_ref()?, source: Source::State(first + index, ty) })
    })
}

/// Whether a type can stand in a struct: one that cannot has been told.
fn usable(ty: &Type) -> bool {
    borrowed(ty, false).is_none() && unnamed(ty).is_none()
}

/// Every context, each name once, and the tool or variant that it belongs to.
fn all(tool: &Tool) -> Vec<(&Tool, Context<'_>)> {
    let mut names = HashSet::new();
    let each = |tool| {
        let judged = Tool::args(tool).filter(|arg| !arg.is_nested());
        let fields = judged.filter_map(move |arg| Some((tool, context(tool, arg, arg.attrs.dynamic.as_ref()?))));
        fields.chain(tool.options.check.iter().map(move |_| (tool, of_check(tool))))
    };
    let variants = tool.variants().flat_map(|(_, variant)| each(variant));
    each(tool).chain(variants).filter(|(_, context)| names.insert(context.name.clone())).collect()
}

/// A name for a private field, that no parameter has.
pub(super) fn private(tool: &Tool, name: &str) -> Ident {
    let mut ident = format_ident!("__{name}");
    let taken = |ident: &Ident| {
        tool.inputs.iter().any(|input| match input {
            Input::Arg(arg) => same(&arg.ident, ident),
            Input::State { ident: own, .. } => own.as_ref().is_some_and(|own| same(own, ident)),
            Input::Context { .. } => false,
        })
    };
    while taken(&ident) {
        ident = format_ident!("{ident}_");
    }
    ident
}

/// The structs.
pub(crate) fn contexts(tool: &Tool) -> Vec<TokenStream> {
    let each = |(tool, Context { name, of, known }): (&Tool, Context<'_>)| {
        let (vis, runtime) = (&tool.vis, tool.runtime());
        let [call, state] = ["call", "state"].map(|name| private(tool, name));
        let owner = tool.owner().filter(|ty| borrowed(ty, true).is_none()).into_iter();
        let fields = known.iter().map(|Known { ident, source }| {
            let word = ident.unraw().to_string();
            let (doc, ty) = match source {
                Source::Value(_, Arg { ty, attrs, .. }) => {
                    let accepted = if attrs.dynamic.is_some() { ", which is accepted" } else { "" };
                    (format!("The parameter `{word}`{accepted}."), quote!(&'a #ty))
                }
                Source::Maybe(_, Arg { ty, .. }) => {
                    (format!("The parameter `{word}`, if it is accepted."), quote!(::core::option::Option<&'a #ty>))
                }
                Source::Raw(_) => {
                    let doc = format!("What was given for `{word}`, right or wrong.");
                    (doc, quote!(::core::option::Option<&'a #runtime::Value>))
                }
                Source::State(_, ty) => (format!("The state `{word}`."), quote!(&'a #ty)),
            };
            quote!(#[doc = #doc] pub #ident: #ty)
        });
        let doc = format!("What {of} of `{}` knows.", tool.name);
        quote! {
            #[doc = #doc]
            #[derive(::core::clone::Clone, ::core::marker::Copy)]
            #[allow(
                dead_code,
                missing_debug_implementations,
                private_interfaces,
                unreachable_pub,
            )]
            #vis struct #name<'a> {
                #(#fields,)*
                #call: &'a #runtime::Context,
                #(#state: &'a #owner,)*
            }
        }
    };
    all(tool).into_iter().map(each).collect()
}

/// The structs' methods.
pub(super) fn accessors(tool: &Tool) -> TokenStream {
    let each = all(tool).into_iter().map(|(tool, Context { name, .. })| {
        let vis = &tool.vis;
        let [call, state] = ["call", "state"].map(|name| private(tool, name));
        let owner = tool.owner().filter(|ty| borrowed(ty, true).is_none()).map(|ty| {
            quote! {
                /// The state.
                #vis fn state(&self) -> &'a #ty {
                    self.#state
                }
            }
        });
        quote! {
            #[automatically_derived]
            #[allow(dead_code, unreachable_pub)]
            impl<'a> #name<'a> {
                /// The call.
                #vis fn call(&self) -> &'a __rt::Context {
                    self.#call
                }
                #owner
            }
        }
    });
    each.collect()
}

impl Context<'_> {
    /// The context as a value, from `known`.
    pub(super) fn value(&self, tool: &Tool, known: &Ident) -> TokenStream {
        let [call, state] = ["call", "state"].map(|name| private(tool, name));
        let fields = self.known.iter().map(|Known { ident, source }| {
            let value = match source {
                Source::Value(place, _) => quote!(#known.value(#place)),
                Source::Maybe(place, _) => quote!(#known.maybe(#place)),
                Source::Raw(Arg { name, .. }) => quote!(#known.raw.get(#name)),
                Source::State(index, _) => {
                    let index = syn::Index::from(*index);
                    quote!(#known.states.#index)
                }
            };
            quote!(#ident: #value)
        });
        let name = &self.name;
        let owner = tool.owner().map(|_| quote!(#state: #known.states.0,));
        quote!(#name { #(#fields,)* #call: #known.call, #owner })
    }
}

//! The contexts of validators: a struct for each, beside the tool, because users name it.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Type, ext::IdentExt};

use super::runtime;
use crate::model::{Judged, NestedInput, Param, StateArg, ToolDef, Variant, same, unknown};
use crate::syntax::{
    params::Dynamic,
    types::{find_borrow, unnamed},
};

/// The context of one validator, or of the check of the whole call.
pub struct Context<'m> {
    pub name: Ident,
    /// The description of its owner.
    of: String,
    judged: Judged<'m>,
    known: Vec<Known<'m>>,
}

/// One known value.
struct Known<'m> {
    ident: &'m Ident,
    source: Source<'m>,
}

/// The source of a known value.
enum Source<'m> {
    /// The value of the parameter at this index, which is accepted or static.
    Value(usize, &'m Param),
    /// The accepted value of a parameter, if there is one.
    Maybe(usize, &'m Param),
    /// The value as it was given.
    Raw(&'m Param),
    /// None: the error about it, which stands for its type.
    Unknown(TokenStream),
    /// A state, by its index among those that the tool takes.
    State(usize, &'m Type),
}

/// Returns every context of a tool, each name once.
pub fn tool_contexts(tool: &ToolDef) -> Vec<Context<'_>> {
    let own = tool.judged();
    let check = tool.options.check.iter().map(|_| Context::of_check(own));
    let variants = tool.variants().iter().map(Variant::judged).flat_map(of_fields);
    distinct(of_fields(own).chain(check).chain(variants))
}

/// Returns every context of a nested input, each name once.
pub fn input_contexts(input: &NestedInput) -> Vec<Context<'_>> {
    distinct(of_fields(input.judged()))
}

fn of_fields(judged: Judged<'_>) -> impl Iterator<Item = Context<'_>> {
    judged.validated().map(move |(param, dynamic)| Context::of_param(judged, param, dynamic))
}

fn distinct<'m>(all: impl Iterator<Item = Context<'m>>) -> Vec<Context<'m>> {
    let mut names = HashSet::new();
    all.filter(|context| names.insert(context.name.clone())).collect()
}

impl<'m> Context<'m> {
    /// Creates the context for the validator of the parameter `own`.
    pub fn of_param(judged: Judged<'m>, own: &Param, dynamic: &'m Dynamic) -> Self {
        let (name, of) = (judged.context(&own.ident), format!("the validator of `{}`", own.name));
        let mut context = Self { name, of, judged, known: Vec::new() };
        let options = &dynamic.options;
        options.requires.iter().for_each(|name| context.add(&own.ident, name, true, Source::Value));
        options.after.iter().for_each(|name| context.add(&own.ident, name, true, Source::Maybe));
        options.hints.iter().for_each(|name| context.add(&own.ident, name, false, |_, param| Source::Raw(param)));
        let shown = judged.fields.iter().filter(|param| !param.is_dynamic() && !param.is_secret());
        shown.for_each(|param| context.add(&own.ident, &param.ident, false, Source::Value));
        context.known.extend(known_states(judged));
        context
    }

    /// Creates the context for the check of the whole call.
    pub fn of_check(judged: Judged<'m>) -> Self {
        let (name, of) = (judged.check_context(), "the check".to_owned());
        Self { name, of, judged, known: known_states(judged).collect() }
    }

    /// Adds what `own` names, unless it is known. An unknown name is a field too, so that a use of it is no second error.
    fn add(&mut self, own: &Ident, name: &'m Ident, waits: bool, source: fn(usize, &'m Param) -> Source<'m>) {
        if self.known.iter().any(|earlier| same(earlier.ident, name)) {
            return;
        }
        match self.judged.placed().find(|(_, param)| same(&param.ident, name)) {
            Some((place, param)) if is_usable(&param.ty) => {
                self.known.push(Known { ident: &param.ident, source: source(place, param) });
            }
            Some(_) => {}
            None => {
                let error = unknown(self.judged.fields, own, name, waits).into_compile_error();
                self.known.push(Known { ident: name, source: Source::Unknown(error) });
            }
        }
    }

    /// Returns the struct.
    pub fn struct_item(&self) -> TokenStream {
        let (name, head) = (&self.name, self.judged.head);
        let (vis, runtime) = (&head.vis, runtime(head.krate.as_ref()));
        let [call, state] = ["call", "state"].map(|name| private_field(self.judged, name));
        let owner = self.owner().into_iter();
        let fields = self.known.iter().map(|known| known.field(&runtime));
        let doc = format!("The context of {} of `{}`.", self.of, head.name);
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
    }

    /// Returns the struct's methods.
    pub fn accessors(&self) -> TokenStream {
        let (name, vis) = (&self.name, &self.judged.head.vis);
        let [call, state] = ["call", "state"].map(|name| private_field(self.judged, name));
        let owner = self.owner().map(|ty| {
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
    }

    /// Returns the context as a value, from `known`.
    pub fn value(&self, known: &Ident) -> TokenStream {
        let [call, state] = ["call", "state"].map(|name| private_field(self.judged, name));
        let fields = self.known.iter().map(|Known { ident, source }| {
            let value = match source {
                Source::Value(place, _) => quote!(#known.value(#place)),
                Source::Maybe(place, _) => quote!(#known.maybe(#place)),
                Source::Raw(Param { name, .. }) => quote!(#known.raw.get(#name)),
                Source::Unknown(error) => error.clone(),
                Source::State(index, _) => {
                    let index = syn::Index::from(*index);
                    quote!(#known.states.#index)
                }
            };
            quote!(#ident: #value)
        });
        let name = &self.name;
        let owner = self.judged.owner.map(|_| quote!(#state: #known.states.0,));
        quote!(#name { #(#fields,)* #call: #known.call, #owner })
    }

    /// Returns the type on which the tool is declared, unless it borrows, which has been reported.
    fn owner(&self) -> Option<&'m Type> {
        self.judged.owner.filter(|ty| find_borrow(ty, true).is_none())
    }
}

impl Known<'_> {
    /// Returns its field in the struct.
    fn field(&self, runtime: &TokenStream) -> TokenStream {
        let Self { ident, source } = self;
        let word = ident.unraw().to_string();
        let (doc, ty) = match source {
            Source::Value(_, param) => {
                let accepted = if param.is_dynamic() { ", which is accepted" } else { "" };
                let ty = &param.ty;
                (format!("The parameter `{word}`{accepted}."), quote!(&'a #ty))
            }
            Source::Maybe(_, Param { ty, .. }) => {
                (format!("The parameter `{word}`, if it is accepted."), quote!(::core::option::Option<&'a #ty>))
            }
            Source::Raw(_) => {
                let doc = format!("The value given for `{word}`, valid or not.");
                (doc, quote!(::core::option::Option<&'a #runtime::Value>))
            }
            // The compiler reports nothing about an array whose length is an error.
            Source::Unknown(error) => (String::new(), quote!([(); { #error }])),
            Source::State(_, ty) => (format!("The state `{word}`."), quote!(&'a #ty)),
        };
        quote!(#[doc = #doc] pub #ident: #ty)
    }
}

/// Returns the states of a function, each under its own name.
fn known_states(judged: Judged<'_>) -> impl Iterator<Item = Known<'_>> {
    let first = usize::from(judged.owner.is_some());
    let owned = judged.states().enumerate().filter(|(_, state)| find_borrow(&state.ty, true).is_none());
    owned.filter_map(move |(index, StateArg { ident, ty, .. })| {
        Some(Known { ident: ident.as_ref()?, source: Source::State(first + index, ty) })
    })
}

/// Returns whether a type can be in a struct; others have been reported.
fn is_usable(ty: &Type) -> bool {
    find_borrow(ty, false).is_none() && unnamed(ty).is_none()
}

/// Returns a name for a private field that no parameter has.
fn private_field(judged: Judged<'_>, name: &str) -> Ident {
    let mut ident = format_ident!("__{name}");
    let is_used = |ident: &Ident| {
        judged.fields.iter().any(|param| same(&param.ident, ident))
            || judged.states().any(|state| state.ident.as_ref().is_some_and(|own| same(own, ident)))
    };
    while is_used(&ident) {
        ident = format_ident!("{ident}_");
    }
    ident
}

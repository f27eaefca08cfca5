//! Generates a context struct for each validator. Users name these structs.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Type, ext::IdentExt};

use super::tokens::runtime_path;
use crate::declaration::{
    NestedInput, Param, StateArg, ToolDef, ValidatorScope, Variant, is_same_ident, unknown_parameter_error,
};
use crate::syntax::{
    params::{DerivedValue, Dynamic},
    types::{find_borrow, find_impl_trait},
};

/// The context of one validator, or of the check of the whole call.
pub struct ValidatorContext<'d> {
    pub name: Ident,
    /// The validator in words, for the documentation of the struct.
    validator_text: String,
    scope: ValidatorScope<'d>,
    fields: Vec<ContextField<'d>>,
}

/// A field of the context: one value that the validator knows.
struct ContextField<'d> {
    ident: &'d Ident,
    source: Source<'d>,
}

/// The source of a field's value.
enum Source<'d> {
    /// The accepted value of the parameter at this index.
    Accepted(usize, &'d Param),
    /// The value of a parameter, which was judged before.
    Judged(usize, &'d Param),
    /// The value that the model gave, not validated.
    Given(usize, &'d Param),
    /// The data that was derived from the required parameter at this index.
    Derived(usize, &'d Type),
    /// No source: the name is unknown. The tokens report the error.
    Error(TokenStream),
    /// A part of the state, by its index among the parts that the tool takes.
    State(usize, &'d Type),
}

/// Returns every context of a tool, each name once.
pub fn tool_contexts(tool: &ToolDef) -> Vec<ValidatorContext<'_>> {
    let scope = tool.validator_scope();
    let check = tool.options.check.iter().map(|_| ValidatorContext::of_check(scope));
    let variants = tool.variants().iter().map(Variant::validator_scope).flat_map(contexts_of_params);
    distinct(contexts_of_params(scope).chain(check).chain(variants))
}

/// Returns every context of a nested input, each name once.
pub fn input_contexts(input: &NestedInput) -> Vec<ValidatorContext<'_>> {
    distinct(contexts_of_params(input.validator_scope()))
}

fn contexts_of_params(scope: ValidatorScope<'_>) -> impl Iterator<Item = ValidatorContext<'_>> {
    scope.with_validators().map(move |(param, dynamic)| ValidatorContext::of_param(scope, param, dynamic))
}

fn distinct<'d>(all: impl Iterator<Item = ValidatorContext<'d>>) -> Vec<ValidatorContext<'d>> {
    let mut names = HashSet::new();
    all.filter(|context| names.insert(context.name.clone())).collect()
}

impl<'d> ValidatorContext<'d> {
    /// Creates the context for the validator of the parameter `own`.
    pub fn of_param(scope: ValidatorScope<'d>, own: &Param, dynamic: &'d Dynamic) -> Self {
        let (name, validator_text) = (scope.context_ident(&own.ident), format!("the validator of `{}`", own.name));
        let mut context = Self { name, validator_text, scope, fields: Vec::new() };
        let options = &dynamic.options;
        options.requires.iter().for_each(|name| context.add_field(&own.ident, name, Source::Accepted));
        let is_required = |param: &Param| options.requires.iter().any(|name| is_same_ident(&param.ident, name));
        let derived = scope.indexed().filter_map(|(index, param)| Some((index, param.derived()?, is_required(param))));
        let derived = derived.filter(|(_, data, is_required)| *is_required && find_borrow(&data.ty, true).is_none());
        context.fields.extend(
            derived.map(|(index, DerivedValue { ident, ty }, _)| ContextField {
                ident,
                source: Source::Derived(index, ty),
            }),
        );
        options.after.iter().for_each(|name| context.add_field(&own.ident, name, Source::Judged));
        options.hints.iter().for_each(|name| context.add_field(&own.ident, name, Source::Given));
        context.fields.extend(state_fields(scope));
        context
    }

    /// Creates the context for the check of the whole call.
    pub fn of_check(scope: ValidatorScope<'d>) -> Self {
        let (name, validator_text) = (scope.check_context_ident(), "the check".to_owned());
        Self { name, validator_text, scope, fields: state_fields(scope).collect() }
    }

    /// Adds a field for `name`, if the context has none. An unknown name becomes a field, too, so that its uses cause no second
    /// error.
    fn add_field(&mut self, own: &Ident, name: &'d Ident, source: fn(usize, &'d Param) -> Source<'d>) {
        if self.fields.iter().any(|earlier| is_same_ident(earlier.ident, name)) {
            return;
        }
        match self.scope.indexed().find(|(_, param)| is_same_ident(&param.ident, name)) {
            Some((index, param)) if is_usable(&param.ty) => {
                self.fields.push(ContextField { ident: &param.ident, source: source(index, param) });
            }
            Some(_) => {}
            None => {
                let error = unknown_parameter_error(self.scope.fields, own, name).into_compile_error();
                self.fields.push(ContextField { ident: name, source: Source::Error(error) });
            }
        }
    }

    /// Returns the struct of the context.
    pub fn struct_item(&self) -> TokenStream {
        let (name, head) = (&self.name, self.scope.head);
        let (vis, runtime) = (&head.vis, runtime_path(head.krate.as_ref()));
        let [call, state] = ["call", "state"].map(|name| private_field(self.scope, name));
        let own_state = self.own_state().into_iter();
        let fields = self.fields.iter().map(|field| field.definition(&runtime));
        let doc = format!("The context of {} of `{}`.", self.validator_text, head.name);
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
                #(#state: &'a #own_state,)*
            }
        }
    }

    /// Returns the struct's methods.
    pub fn accessors(&self) -> TokenStream {
        let (name, vis) = (&self.name, &self.scope.head.vis);
        let [call, state] = ["call", "state"].map(|name| private_field(self.scope, name));
        let own_state = self.own_state().map(|ty| {
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
                #own_state
            }
        }
    }

    /// Returns the expression that builds the context from `known`, a variable of type `ValidatorInputs`.
    pub fn value(&self, known: &Ident) -> TokenStream {
        let [call, state] = ["call", "state"].map(|name| private_field(self.scope, name));
        let fields = self.fields.iter().map(|ContextField { ident, source }| {
            let value = match source {
                Source::Accepted(index, _) => quote!(#known.value(#index)),
                Source::Judged(index, _) => quote!(#known.judged(#index)),
                Source::Given(index, _) => quote!(#known.raw.read(#index)),
                Source::Derived(index, _) => quote!(#known.derived(#index)),
                Source::Error(error) => error.clone(),
                Source::State(index, _) => {
                    let index = syn::Index::from(*index);
                    quote!(#known.states.#index)
                }
            };
            quote!(#ident: #value)
        });
        let name = &self.name;
        let own_state = self.scope.own_state.map(|_| quote!(#state: #known.states.0,));
        quote!(#name { #(#fields,)* #call: #known.call, #own_state })
    }

    /// Returns the type of the state, unless that type borrows. Another check reports the borrow.
    fn own_state(&self) -> Option<&'d Type> {
        self.scope.own_state.filter(|ty| find_borrow(ty, true).is_none())
    }
}

impl ContextField<'_> {
    /// Returns the definition of the field in the struct.
    fn definition(&self, runtime: &TokenStream) -> TokenStream {
        let Self { ident, source } = self;
        let word = ident.unraw().to_string();
        let (doc, ty) = match source {
            Source::Accepted(_, Param { ty, .. }) => {
                (format!("The parameter `{word}`, which is accepted."), quote!(&'a #ty))
            }
            Source::Judged(_, Param { ty, .. }) => {
                (format!("The parameter `{word}`, accepted or refused."), quote!(#runtime::Judged<'a, #ty>))
            }
            Source::Given(_, Param { ty, .. }) => {
                (format!("The value given for `{word}`, accepted or not."), quote!(::core::option::Option<&'a #ty>))
            }
            Source::Derived(_, ty) => (format!("The data `{word}`, which a validator derived."), quote!(&'a #ty)),
            // An array type whose length is a `compile_error!` causes no further error.
            Source::Error(error) => (String::new(), quote!([(); { #error }])),
            Source::State(_, ty) => (format!("The state `{word}`."), quote!(&'a #ty)),
        };
        quote!(#[doc = #doc] pub #ident: #ty)
    }
}

/// Returns a field for each named state argument of a function, unless its type borrows.
fn state_fields(scope: ValidatorScope<'_>) -> impl Iterator<Item = ContextField<'_>> {
    let first = usize::from(scope.own_state.is_some());
    let owned = scope.state_args().enumerate().filter(|(_, state)| find_borrow(&state.ty, true).is_none());
    owned.filter_map(move |(index, StateArg { ident, ty, .. })| {
        Some(ContextField { ident: ident.as_ref()?, source: Source::State(first + index, ty) })
    })
}

/// Returns whether a struct can have a field of this type.
fn is_usable(ty: &Type) -> bool {
    find_borrow(ty, false).is_none() && find_impl_trait(ty).is_none()
}

/// Returns a name for a private field that no parameter has.
fn private_field(scope: ValidatorScope<'_>, name: &str) -> Ident {
    let mut ident = format_ident!("__{name}");
    let is_used = |ident: &Ident| {
        scope.fields.iter().any(|param| is_same_ident(&param.ident, ident))
            || scope.state_args().any(|state| state.ident.as_ref().is_some_and(|own| is_same_ident(own, ident)))
    };
    while is_used(&ident) {
        ident = format_ident!("{ident}_");
    }
    ident
}

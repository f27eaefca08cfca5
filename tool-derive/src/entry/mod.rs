//! The macros as functions over `proc_macro2`, each a walk through the stages: syntax, resolve, check, expand.

mod block;
mod item;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, DeriveInput, Meta, Path, Visibility,
    parse::{ParseStream, Parser},
};

use crate::{
    check,
    diag::{Errors, text},
    expand,
    model::ToolDef,
    resolve::{data, derives},
    syntax::{list::List, options::krate},
};
pub(crate) use block::toolset_impl;
pub(crate) use item::tool;

/// `toolset!(state; tool, …)`.
pub(crate) fn toolset_list(tokens: TokenStream) -> TokenStream {
    match syn::parse2::<List>(tokens) {
        Ok(list) => expand::toolset_block(&list),
        Err(error) => error.into_compile_error(),
    }
}

/// `#[derive(ToolOutput)]`.
pub(crate) fn output(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => check::output::collisions(&item, &mut errors),
        Err(error) => errors.push(error),
    }
    errors.finish()
}

/// `#[derive(Provide)]`.
pub(crate) fn provide(item: TokenStream) -> TokenStream {
    derive(item, "provide", |item, krate, errors| {
        derives::provide(item, errors).map(|item| expand::provide(&item, krate))
    })
}

/// `#[derive(Calls)]`.
pub(crate) fn calls(item: TokenStream) -> TokenStream {
    derive(item, "calls", |item, krate, errors| derives::calls(item, errors).map(|item| expand::calls(&item, krate)))
}

/// A derive whose own attribute can say where the runtime is: `#[own(crate = path)]`.
fn derive(
    item: TokenStream,
    own: &str,
    expand: fn(DeriveInput, Option<&Path>, &mut Errors) -> Option<TokenStream>,
) -> TokenStream {
    let mut errors = Errors::default();
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let krate = item.attrs.iter().filter(|attr| attr.path().is_ident(own)).find_map(|attr| match &attr.meta {
        Meta::List(list) => krate(list.tokens.clone(), &mut errors),
        other => {
            errors.over(other, text::CRATE);
            None
        }
    });
    let mut out = expand(item, krate.as_ref(), &mut errors).unwrap_or_default();
    out.extend(errors.finish());
    out
}

/// `#[derive(DynamicInput)]`.
pub(crate) fn dynamic_input(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let Some(input) = data::nested_input(&item, &mut errors) else { return errors.finish() };
    check::input(&input, &mut errors);
    let contexts = expand::input_contexts(&input);
    let mut out: TokenStream = contexts.iter().map(expand::Context::struct_item).collect();
    match errors.into_result() {
        Ok(()) => {
            out.extend(expand::nested_input(&input));
            out.extend(expand::advice(&check::advice::of_input(&input)));
        }
        Err(error) => {
            out.extend(expand::nested_input_stub(&input));
            out.extend(error.into_compile_error());
        }
    }
    out
}

/// Checks, and either expands or stands in and complains; each item by itself.
fn finish(tool: &ToolDef, mut errors: Errors, stub: bool) -> Vec<TokenStream> {
    check::check(tool, &mut errors);
    match errors.into_result() {
        Ok(()) => {
            let advice = expand::advice(&check::advice::of_tool(tool));
            std::iter::once(expand::tool_block(tool)).chain(advice).collect()
        }
        Err(error) => {
            let stub = stub.then(|| expand::tool_stub(tool));
            stub.into_iter().chain([error.into_compile_error()]).collect()
        }
    }
}

/// Returns the types that users name beside the tool: what its validators know.
fn context_structs(tool: &ToolDef) -> Vec<TokenStream> {
    expand::tool_contexts(tool).iter().map(expand::Context::struct_item).collect()
}

/// The first word of an item, after its attributes and visibility: enough to point at.
fn head(item: &TokenStream) -> TokenStream {
    let word = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let word: TokenTree = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(word.into_token_stream())
    };
    word.parse2(item.clone()).unwrap_or_else(|_| item.clone())
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{TokenStream, text};

    #[test]
    fn state_and_context_are_shared() {
        let function = quote! {
            /// Looks.
            fn look(#[state] store: &mut Store, #[context] cx: &mut Context) {}
        };
        let out = super::tool(&TokenStream::new(), function).to_string();
        assert_eq!(out.matches(text::MUT_STATE).count(), 2, "{out}");
    }
}

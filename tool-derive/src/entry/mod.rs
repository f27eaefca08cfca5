//! The macros as functions over `proc_macro2`, each a walk through the stages: syntax, model, check, expand.

mod block;
mod item;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, DeriveInput, Visibility,
    parse::{ParseStream, Parser},
};

use crate::{
    check,
    diag::{Errors, text},
    expand,
    expand::toolset::List,
    model::{Tool, runtime},
    syntax::{options::krate, signature},
};
pub(crate) use block::toolset_impl;
pub(crate) use item::tool;

/// `toolset!(state; tool, …)`.
pub(crate) fn toolset_list(tokens: TokenStream) -> TokenStream {
    match syn::parse2::<List>(tokens) {
        Ok(list) => expand::toolset::list(&list),
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

/// A derive that is all in `expand`.
///
/// `own` is the derive's attribute, which can say where the runtime is: `#[own(crate = path)]`.
pub(crate) fn derive(
    item: TokenStream,
    own: &str,
    expand: fn(&DeriveInput, &TokenStream, &mut Errors) -> TokenStream,
) -> TokenStream {
    let mut errors = Errors::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => {
            let place = item.attrs.iter().filter(|attr| attr.path().is_ident(own)).find_map(|attr| match &attr.meta {
                syn::Meta::List(list) => krate(list.tokens.clone(), &mut errors),
                other => {
                    errors.over(other, text::CRATE);
                    None
                }
            });
            let mut out = expand(&item, &runtime(place.as_ref()), &mut errors);
            out.extend(errors.finish());
            out
        }
        Err(error) => error.into_compile_error(),
    }
}

/// `#[derive(DynamicInput)]`.
pub(crate) fn dynamic_input(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let Some(input) = signature::input(&item, &mut errors) else { return errors.finish() };
    check::input(&input, &mut errors);
    let mut out: TokenStream = expand::contexts(&input).into_iter().collect();
    if errors.count() == 0 {
        out.extend(expand::input::expand(&input));
        out.extend(expand::advice(&input));
    } else {
        out.extend(expand::input::stub(&input));
    }
    out.extend(errors.finish());
    out
}

/// Checks, and either expands or stands in and complains; each item by itself.
fn finish(tool: &Tool, mut errors: Errors, stub: bool) -> Vec<TokenStream> {
    check::check(tool, &mut errors);
    if errors.count() == 0 {
        return std::iter::once(expand::tool(tool)).chain(expand::advice(tool)).collect();
    }
    stub.then(|| expand::stub(tool)).into_iter().chain([errors.finish()]).collect()
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

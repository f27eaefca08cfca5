//! The macros as functions over `proc_macro2`, each a walk through the stages: syntax, model, check, expand.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, DeriveInput, ImplItem, ItemImpl, ItemStruct, parse_quote, spanned::Spanned as _};

use crate::{
    check,
    diag::{Errors, text},
    expand,
    expand::toolset::List,
    model::{Tool, runtime},
    syntax::{item::ToolFn, options::Options, params::is_ours, signature},
};

/// `#[tool(args)] item`.
pub(crate) fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(args, &mut errors);
    if let Ok(mut function) = syn::parse2::<ToolFn>(item.clone()) {
        let marker = function.sig.ident.clone();
        let tool = signature::function(&function, marker, None, options, &mut errors);
        strip(&mut function);
        function.attrs.insert(0, owned_arguments());
        let mut out = function.into_token_stream();
        let is_method = function_has_self(&out);
        if !is_method {
            out.extend(expand::marker(&tool));
        }
        out.extend(finish(&tool, errors, !is_method));
        return out;
    }
    match syn::parse2::<ItemStruct>(item.clone()) {
        Ok(mut structure) => {
            let tool = signature::structure(&structure, options, &mut errors);
            for field in &mut structure.fields {
                field.attrs.retain(|attr| !is_ours(attr));
            }
            let mut out = structure.into_token_stream();
            out.extend(finish(&tool, errors, true));
            out
        }
        Err(error) => {
            match syn::parse2::<syn::Item>(item.clone()) {
                Ok(other) => errors.over(
                    first(&other),
                    if matches!(other, syn::Item::Enum(_)) { text::NOT_A_STRUCT } else { text::NOT_AN_ITEM },
                ),
                Err(_) => errors.push(error),
            }
            let mut out = item;
            out.extend(errors.finish());
            out
        }
    }
}

/// `#[tools] impl Type { … }`.
pub(crate) fn toolset_impl(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(args, &mut errors);
    let mut block = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) if block.trait_.is_none() => block,
        _ => {
            errors.over(&item, text::NOT_AN_IMPL);
            let mut out = item;
            out.extend(errors.finish());
            return out;
        }
    };
    let krate = options.krate.clone();
    let runtime = runtime(krate.as_ref());
    let owner = (*block.self_ty).clone();
    let mut markers = Vec::new();
    let mut tools = TokenStream::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(place) = method.attrs.iter().position(|attr| attr.path().is_ident("tool")) else { continue };
        let attr = method.attrs.remove(place);
        let args = match &attr.meta {
            syn::Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        let mut errors = Errors::default();
        let mut options = Options::parse(args, &mut errors);
        options.krate = options.krate.or_else(|| krate.clone());
        let Ok(mut function) = syn::parse2::<ToolFn>(method.to_token_stream()) else { continue };
        let marker = expand::toolset::marker(&owner, &function.sig.ident);
        let tool = signature::function(&function, marker.clone(), Some(&owner), options, &mut errors);
        strip(&mut function);
        method.sig = function.sig;
        method.attrs.insert(0, owned_arguments());
        tools.extend(expand::marker(&tool));
        tools.extend(finish(&tool, errors, true));
        markers.push(marker);
    }
    if markers.is_empty() {
        errors.over(&block.self_ty, text::NO_TOOLS);
    }
    let method = expand::toolset::method(&block, &runtime, &markers);
    let errors = errors.finish();
    quote!(#block #tools #method #errors)
}

/// `toolset!(state; tool, …)`.
pub(crate) fn toolset_list(tokens: TokenStream) -> TokenStream {
    match syn::parse2::<List>(tokens) {
        Ok(list) => expand::toolset::list(&list),
        Err(error) => error.into_compile_error(),
    }
}

/// A derive that is all in `expand`.
pub(crate) fn derive(item: TokenStream, expand: fn(&DeriveInput, &mut Errors) -> TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => {
            let mut out = expand(&item, &mut errors);
            out.extend(errors.finish());
            out
        }
        Err(error) => error.into_compile_error(),
    }
}

/// Checks, and either expands or stands in and complains.
fn finish(tool: &Tool, mut errors: Errors, stub: bool) -> TokenStream {
    check::check(tool, &mut errors);
    if errors.count() == 0 {
        return expand::tool(tool);
    }
    let mut out = if stub { expand::stub(tool) } else { TokenStream::new() };
    out.extend(errors.finish());
    out
}

/// Takes our attributes, and the doc comments that are no Rust there, off the parameters.
fn strip(function: &mut ToolFn) {
    for input in &mut function.sig.inputs {
        let attrs = match input {
            syn::FnArg::Receiver(receiver) => &mut receiver.attrs,
            syn::FnArg::Typed(param) => &mut param.attrs,
        };
        attrs.retain(|attr| !is_ours(attr) && !attr.path().is_ident("doc"));
    }
}

/// Keeps clippy from asking for `&str`. It stands first, so that what the user says of the same lint prevails.
fn owned_arguments() -> Attribute {
    parse_quote!(#[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_async,
        reason = "a tool owns its decoded arguments, and takes what it needs"
    )])
}

fn function_has_self(function: &TokenStream) -> bool {
    syn::parse2::<ToolFn>(function.clone()).is_ok_and(|function| function.sig.receiver().is_some())
}

/// The first token of an item, after its attributes: enough to point at.
fn first(item: &syn::Item) -> TokenStream {
    let span = match item {
        syn::Item::Enum(item) => item.ident.span(),
        syn::Item::Impl(item) => item.impl_token.span(),
        syn::Item::Mod(item) => item.ident.span(),
        syn::Item::Trait(item) => item.ident.span(),
        other => other.span(),
    };
    quote::quote_spanned!(span=> item)
}

#[cfg(test)]
mod tests {
    use super::{TokenStream, quote, text};

    #[test]
    fn state_and_context_are_shared() {
        let function = quote! {
            /// Looks.
            fn look(#[state] store: &mut Store, #[context] cx: &mut Context) {}
        };
        let out = super::tool(TokenStream::new(), function).to_string();
        assert_eq!(out.matches(text::MUT_STATE).count(), 2, "{out}");
    }
}

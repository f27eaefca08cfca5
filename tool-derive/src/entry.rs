//! The macros as functions over `proc_macro2`, each a walk through the stages: syntax, model, check, expand.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, DeriveInput, ImplItem, ItemEnum, ItemImpl, ItemStruct, Visibility,
    parse::{ParseStream, Parser},
};

use crate::{
    check,
    diag::{Errors, text},
    expand,
    expand::toolset::{List, Member},
    model::{Tool, runtime},
    syntax::{
        item::{ToolFn, without_self},
        options::{Options, krate},
        params::is_ours,
        place::is_in_impl,
        signature,
        union::enumeration,
    },
};

/// `#[tool(args)] item`.
pub(crate) fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(args, &mut errors);
    if let Ok(function) = syn::parse2::<ToolFn>(item.clone()) {
        let marker = function.sig.ident.clone();
        let is_method = function.needs_impl() || is_in_impl(&item);
        if is_method {
            let has_self = function.sig.receiver().is_some();
            errors.over(&marker, if has_self { text::METHOD_OUTSIDE } else { text::FUNCTION_IN_IMPL });
        }
        let tool = signature::function(&function, marker, None, options, &mut errors);
        let mut out = plain(function);
        if !is_method {
            out.extend(expand::marker(&tool));
            out.extend(expand::contexts(&tool));
        }
        out.extend(finish(&tool, errors, !is_method));
        return out;
    }
    if let Ok(mut union) = syn::parse2::<ItemEnum>(item.clone()) {
        let tool = enumeration(&union, options, &mut errors);
        for variant in &mut union.variants {
            variant.attrs.retain(|attr| !is_ours(attr));
            variant.fields.iter_mut().for_each(|field| field.attrs.retain(|attr| !is_ours(attr)));
        }
        return data(union.generics.params.is_empty(), &tool, &union.to_token_stream(), errors);
    }
    match syn::parse2::<ItemStruct>(item.clone()) {
        Ok(mut structure) => {
            let tool = signature::structure(&structure, options, &mut errors);
            for field in &mut structure.fields {
                field.attrs.retain(|attr| !is_ours(attr));
            }
            data(structure.generics.params.is_empty(), &tool, &structure.to_token_stream(), errors)
        }
        Err(error) => {
            match syn::parse2::<syn::Item>(item.clone()) {
                Ok(_) => errors.over(head(&item), text::NOT_AN_ITEM),
                Err(_) => errors.push(error),
            }
            let mut out = item;
            out.extend(errors.finish());
            out
        }
    }
}

/// A struct or an enum, and all that hangs on it. What a generic one stands for is not known, so nothing can `stub` it.
fn data(stub: bool, tool: &Tool, item: &TokenStream, errors: Errors) -> TokenStream {
    // Whoever executes an external call reads the fields; here nobody has to.
    let external = tool.options.external.is_some().then(|| quote!(#[allow(dead_code)]));
    let mut out = quote!(#external #item);
    if stub {
        out.extend(expand::contexts(tool));
    }
    out.extend(finish(tool, errors, stub));
    out
}

/// `#[tools] impl Type { … }`.
pub(crate) fn toolset_impl(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let krate = krate(args, &mut errors);
    let mut block = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) if block.trait_.is_none() => block,
        _ => {
            errors.over(head(&item), text::NOT_AN_IMPL);
            let mut out = item;
            out.extend(errors.finish());
            return out;
        }
    };
    let generic = &block.generics.params;
    let is_generic = !generic.is_empty();
    if is_generic {
        errors.over(generic, text::GENERIC_IMPL);
    }
    let owner = (*block.self_ty).clone();
    let mut members = Vec::new();
    let mut tools = TokenStream::new();
    let mut found = false;
    for item in &mut block.items {
        let Some((attr, function)) = method(item) else { continue };
        found = true;
        let mut errors = Errors::default();
        let args = match &attr.meta {
            syn::Meta::List(list) => without_self(list.tokens.clone(), &owner),
            _ => TokenStream::new(),
        };
        let mut options = Options::parse(args, &mut errors);
        options.krate = options.krate.or_else(|| krate.clone());
        let member = Member::of(&owner, &function);
        let outside = function.outside(&owner);
        let tool = signature::function(&outside, member.marker.clone(), Some(&owner), options, &mut errors);
        *item = ImplItem::Verbatim(plain(function));
        if is_generic {
            check::check(&tool, &mut errors);
            tools.extend(errors.finish());
        } else {
            let cfg = &member.cfg;
            let (marker, contexts) = (expand::marker(&tool), expand::contexts(&tool));
            let items = std::iter::once(marker).chain(contexts).chain([finish(&tool, errors, true)]);
            tools.extend(items.map(|item| quote!(#(#cfg)* #item)));
            members.push(member);
        }
    }
    if !found {
        errors.over(&block.self_ty, text::NO_TOOLS);
    }
    let method = expand::toolset::method(&block, &runtime(krate.as_ref()), &members);
    let errors = errors.finish();
    quote!(#block #tools #method #errors)
}

/// A method that is marked `#[tool]`, and the mark.
fn method(item: &ImplItem) -> Option<(Attribute, ToolFn)> {
    let tokens = match item {
        ImplItem::Fn(method) => method.to_token_stream(),
        // What syn cannot place, such as a method without a body.
        ImplItem::Verbatim(tokens) => tokens.clone(),
        _ => return None,
    };
    let mut function = syn::parse2::<ToolFn>(tokens).ok()?;
    let is_mark = |attr: &Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "tool");
    let place = function.attrs.iter().position(is_mark)?;
    Some((function.attrs.remove(place), function))
}

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
    out.extend(if errors.count() == 0 { expand::input::expand(&input) } else { expand::input::stub(&input) });
    out.extend(errors.finish());
    out
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

/// Makes the function plain Rust: without our attributes, and the doc comments that cannot be there, on its parameters.
fn plain(mut function: ToolFn) -> TokenStream {
    for input in &mut function.sig.inputs {
        let attrs = match input {
            syn::FnArg::Receiver(receiver) => &mut receiver.attrs,
            syn::FnArg::Typed(param) => &mut param.attrs,
        };
        attrs.retain(|attr| !is_ours(attr) && !attr.path().is_ident("doc"));
    }
    function.give_body();
    // A tool owns its decoded arguments. The attribute stands first, so that what the user says of the same lint prevails.
    quote! {
        #[cfg_attr(clippy, allow(
            clippy::needless_pass_by_value,
            clippy::too_many_arguments,
            clippy::trivially_copy_pass_by_ref,
            clippy::unused_async,
            clippy::unused_self,
        ))]
        #function
    }
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

//! `#[tool]` on a function, a struct or an enum.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{ItemEnum, ItemStruct};

use super::{context_structs, finish, head};
use crate::{
    diag::{Errors, text},
    expand,
    model::ToolDef,
    resolve::{self, data},
    syntax::{
        attribute::{is_ours, is_taken, misplaced},
        borrow::is_unsized,
        cfg::{Parts, cases},
        item::ToolFn,
        options::Options,
    },
};

/// `#[tool(args)] item`.
pub(crate) fn tool(args: &TokenStream, item: TokenStream) -> TokenStream {
    if let Ok(function) = syn::parse2::<ToolFn>(item.clone()) {
        return by_case(args, function, |args, function| self::function(args, &item, function));
    }
    if let Ok(union) = syn::parse2::<ItemEnum>(item.clone()) {
        return by_case(args, union, one_of_several);
    }
    match syn::parse2::<ItemStruct>(item.clone()) {
        Ok(structure) => by_case(args, structure, self::structure),
        Err(error) => {
            let mut errors = Errors::default();
            match syn::parse2::<syn::Item>(item.clone()) {
                Ok(syn::Item::Impl(_)) => errors.over(head(&item), text::TOOL_ON_IMPL),
                Ok(_) => errors.over(head(&item), text::NOT_AN_ITEM),
                Err(_) => errors.push(error),
            }
            let mut out = item;
            out.extend(errors.finish());
            out
        }
    }
}

/// The item as a tool; where its parameters depend on the build, once for either case, as a tool that is expanded there only.
fn by_case<I: Parts + ToTokens>(
    args: &TokenStream,
    item: I,
    expand: impl FnOnce(TokenStream, I) -> TokenStream,
) -> TokenStream {
    let Some((predicate, items)) = item.split() else { return expand(args.clone(), item) };
    // The one that is expanded reports what is wrong with the options.
    let mut errors = Errors::default();
    let krate = Options::of_tool(args.clone(), &mut errors).krate;
    errors.discard();
    let tool = match krate {
        Some(krate) => quote!(#krate::tool),
        None => quote!(::tool_runtime::tool),
    };
    let each = cases(&predicate).into_iter().zip(items);
    each.map(|(case, item)| quote!(#case #[#tool(#args)] #item)).collect()
}

fn function(args: TokenStream, item: &TokenStream, mut function: ToolFn) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    misplaced(&mut function.attrs, &mut errors);
    let marker = function.sig.ident.clone();
    let has_self = function.sig.receiver().is_some();
    if has_self && !function.has_body() {
        errors.over(&marker, text::METHOD_OF_TRAIT);
        let mut out = plain(function);
        out.extend(errors.finish());
        return out;
    }
    let wrong = if has_self {
        Some(text::METHOD_OUTSIDE)
    } else {
        ToolFn::mentions_self(item).then_some(text::FUNCTION_IN_IMPL)
    };
    if let Some(wrong) = wrong {
        errors.over(&marker, wrong);
    }
    let is_free = wrong.is_none();
    let tool = resolve::function::function(&function, marker, None, options, &mut errors);
    let mut out = plain(function);
    if is_free {
        out.extend(expand::marker_struct(&tool));
        out.extend(context_structs(&tool));
    }
    out.extend(finish(&tool, errors, is_free));
    out
}

fn one_of_several(args: TokenStream, mut union: ItemEnum) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    misplaced(&mut union.attrs, &mut errors);
    let tool = data::enumeration(&union, options, &mut errors);
    for variant in &mut union.variants {
        variant.attrs.retain(|attr| !is_ours(attr));
        variant.fields.iter_mut().for_each(|field| field.attrs.retain(|attr| !is_ours(attr)));
    }
    data(union.generics.params.is_empty(), &tool, &union.to_token_stream(), errors)
}

fn structure(args: TokenStream, mut structure: ItemStruct) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    misplaced(&mut structure.attrs, &mut errors);
    let tool = data::structure(&structure, options, &mut errors);
    for field in &mut structure.fields {
        field.attrs.retain(|attr| !is_ours(attr));
    }
    data(structure.generics.params.is_empty(), &tool, &structure.to_token_stream(), errors)
}

/// A struct or an enum, and all that hangs on it. What a generic one stands for is not known, so nothing can `stub` it.
fn data(stub: bool, tool: &ToolDef, item: &TokenStream, errors: Errors) -> TokenStream {
    // Whoever executes an external call reads the fields; here nobody has to.
    let external = tool.options.external.is_some().then(|| quote!(#[allow(dead_code)]));
    let mut out = quote!(#external #item);
    if stub {
        out.extend(context_structs(tool));
    }
    out.extend(finish(tool, errors, stub));
    out
}

/// Makes the function plain Rust: without our attributes, and the doc comments that cannot be there, on its parameters.
pub fn plain(mut function: ToolFn) -> TokenStream {
    for input in &mut function.sig.inputs {
        // A size that is not known has been reported.
        if let syn::FnArg::Typed(param) = input
            && is_unsized(&param.ty)
        {
            let ty = &param.ty;
            *param.ty = syn::parse_quote!(::std::boxed::Box<#ty>);
        }
        let attrs = match input {
            syn::FnArg::Receiver(receiver) => &mut receiver.attrs,
            syn::FnArg::Typed(param) => &mut param.attrs,
        };
        attrs.retain(|attr| !is_taken(attr) && !attr.path().is_ident("doc"));
    }
    function.give_lifetime();
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

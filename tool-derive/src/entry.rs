//! The macros as functions over `proc_macro2`. A declaration goes through the stages syntax, resolve, check and expand.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, DeriveInput, ImplItem, ItemEnum, ItemImpl, ItemStruct, Meta, Path, Visibility,
    parse::{ParseStream, Parser},
};

use crate::declaration::ToolDef;
use crate::diag::{Errors, text};
use crate::resolve::{self, data};
use crate::syntax::{
    attribute::{is_parameter_attribute, must_be_removed, remove_misplaced},
    item::{CfgItem, ToolFn, cfg_cases, replace_self_type},
    options::{Options, crate_path},
    toolset_input::ToolsetInput,
    types::is_unsized,
};
use crate::{check, expand};

/// Expands `toolset!(state; tool, …)`.
pub fn toolset(tokens: TokenStream) -> TokenStream {
    match syn::parse2::<ToolsetInput>(tokens) {
        Ok(input) => expand::toolset_block(&input),
        // A block, because each error is a macro call, and an expression can hold only one.
        Err(error) => {
            let errors = error.into_compile_error();
            quote!({ #errors })
        }
    }
}

/// Expands `#[derive(ToolOutput)]` to nothing, or to the errors.
pub fn output(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => check::check_answer_keys(&item, &mut errors),
        Err(error) => errors.push(error),
    }
    errors.finish()
}

/// Expands `#[derive(Provide)]`.
pub fn provide(item: TokenStream) -> TokenStream {
    derive(item, "provide", |item, krate, errors| {
        data::resolve_provide(item, errors).map(|item| expand::provide(&item, krate))
    })
}

/// Expands `#[derive(Calls)]`.
pub fn calls(item: TokenStream) -> TokenStream {
    derive(item, "calls", |item, krate, errors| {
        data::resolve_calls(item, errors).map(|item| expand::calls(&item, krate))
    })
}

/// Expands a derive whose own attribute can name the path of the runtime: `#[attribute(crate = path)]`.
fn derive(
    item: TokenStream,
    attribute: &str,
    expand: fn(DeriveInput, Option<&Path>, &mut Errors) -> Option<TokenStream>,
) -> TokenStream {
    let mut errors = Errors::default();
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let krate = item.attrs.iter().filter(|attr| attr.path().is_ident(attribute)).find_map(|attr| match &attr.meta {
        Meta::List(list) => crate_path(list.tokens.clone(), &mut errors),
        other => {
            errors.over(other, text::EXPECTED_CRATE);
            None
        }
    });
    let mut out = expand(item, krate.as_ref(), &mut errors).unwrap_or_default();
    out.extend(errors.finish());
    out
}

/// Expands `#[derive(DynamicInput)]`.
pub fn dynamic_input(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let Some(input) = data::resolve_nested_input(&item, &mut errors) else { return errors.finish() };
    check::check_input(&input, &mut errors);
    let contexts = expand::input_contexts(&input);
    let mut out: TokenStream = contexts.iter().map(expand::ValidatorContext::struct_item).collect();
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

/// Checks a tool. Returns the items of its expansion. If there are errors, returns these, after a stub if `has_stub` is set.
fn check_and_expand(tool: &ToolDef, mut errors: Errors, has_stub: bool) -> Vec<TokenStream> {
    check::check(tool, &mut errors);
    match errors.into_result() {
        Ok(()) => {
            let advice = expand::advice(&check::advice::of_tool(tool));
            std::iter::once(expand::tool_block(tool)).chain(advice).collect()
        }
        Err(error) => {
            let stub = has_stub.then(|| expand::tool_stub(tool));
            stub.into_iter().chain([error.into_compile_error()]).collect()
        }
    }
}

/// Returns the context structs of the tool's validators, which users name.
fn context_structs(tool: &ToolDef) -> Vec<TokenStream> {
    expand::tool_contexts(tool).iter().map(expand::ValidatorContext::struct_item).collect()
}

/// Returns the first word of an item, after its attributes and visibility. An error about the whole item points at this word.
fn first_word(item: &TokenStream) -> TokenStream {
    let word = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let word: TokenTree = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(word.into_token_stream())
    };
    word.parse2(item.clone()).unwrap_or_else(|_| item.clone())
}

/// Expands `#[tool(args)] item`.
pub fn tool(args: &TokenStream, item: TokenStream) -> TokenStream {
    if let Ok(function) = syn::parse2::<ToolFn>(item.clone()) {
        return expand_by_case(args, function, |args, function| expand_function(args, &item, function));
    }
    if let Ok(item) = syn::parse2::<ItemEnum>(item.clone()) {
        return expand_by_case(args, item, expand_enum);
    }
    match syn::parse2::<ItemStruct>(item.clone()) {
        Ok(structure) => expand_by_case(args, structure, expand_struct),
        Err(error) => {
            let mut errors = Errors::default();
            match syn::parse2::<syn::Item>(item.clone()) {
                Ok(syn::Item::Impl(_)) => errors.over(first_word(&item), text::TOOL_ON_IMPL),
                Ok(_) => errors.over(first_word(&item), text::NOT_AN_ITEM),
                Err(_) => errors.push(error),
            }
            let mut out = item;
            out.extend(errors.finish());
            out
        }
    }
}

/// Expands an item. If a part of it is under `cfg`, writes two items instead: one for each case, under its `cfg` and `#[tool]`.
fn expand_by_case<I: CfgItem + ToTokens>(
    args: &TokenStream,
    item: I,
    expand: impl FnOnce(TokenStream, I) -> TokenStream,
) -> TokenStream {
    let Some((predicate, items)) = item.split_by_cfg() else { return expand(args.clone(), item) };
    // The copy that the compiler keeps reports the errors in the options.
    let mut errors = Errors::default();
    let krate = Options::of_tool(args.clone(), &mut errors).krate;
    errors.discard();
    let tool = match krate {
        Some(krate) => quote!(#krate::tool),
        None => quote!(::tool_runtime::tool),
    };
    let cases = cfg_cases(&predicate).into_iter().zip(items);
    cases.map(|(case, item)| quote!(#case #[#tool(#args)] #item)).collect()
}

fn expand_function(args: TokenStream, item: &TokenStream, mut function: ToolFn) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    remove_misplaced(&mut function.attrs, &mut errors);
    let tool_type = function.sig.ident.clone();
    let has_self = function.sig.receiver().is_some();
    if has_self && !function.has_body() {
        errors.over(&tool_type, text::METHOD_OF_TRAIT);
        let mut out = plain_function(function);
        out.extend(errors.finish());
        return out;
    }
    let wrong = if has_self {
        Some(text::METHOD_OUTSIDE)
    } else {
        ToolFn::mentions_self(item).then_some(text::FUNCTION_IN_IMPL)
    };
    if let Some(wrong) = wrong {
        errors.over(&tool_type, wrong);
    }
    let is_free_function = wrong.is_none();
    let tool = resolve::function::resolve_function(&function, tool_type, None, options, &mut errors);
    let mut out = plain_function(function);
    if is_free_function {
        out.extend(expand::tool_struct(&tool));
        out.extend(context_structs(&tool));
    }
    out.extend(check_and_expand(&tool, errors, is_free_function));
    out
}

fn expand_enum(args: TokenStream, mut item: ItemEnum) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    remove_misplaced(&mut item.attrs, &mut errors);
    let tool = data::resolve_enum(&item, options, &mut errors);
    for variant in &mut item.variants {
        variant.attrs.retain(|attr| !is_parameter_attribute(attr));
        variant.fields.iter_mut().for_each(|field| field.attrs.retain(|attr| !is_parameter_attribute(attr)));
    }
    expand_data(item.generics.params.is_empty(), &tool, &item.to_token_stream(), errors)
}

fn expand_struct(args: TokenStream, mut structure: ItemStruct) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::of_tool(args, &mut errors);
    remove_misplaced(&mut structure.attrs, &mut errors);
    let tool = data::resolve_struct(&structure, options, &mut errors);
    for field in &mut structure.fields {
        field.attrs.retain(|attr| !is_parameter_attribute(attr));
    }
    expand_data(structure.generics.params.is_empty(), &tool, &structure.to_token_stream(), errors)
}

/// Expands a struct or an enum as a tool. Only a type without generic parameters can have a stub.
fn expand_data(has_stub: bool, tool: &ToolDef, item: &TokenStream, errors: Errors) -> TokenStream {
    // The client that executes an external call reads the fields; no code here has to.
    let external = tool.options.external.is_some().then(|| quote!(#[allow(dead_code)]));
    let mut out = quote!(#external #item);
    if has_stub {
        out.extend(context_structs(tool));
    }
    out.extend(check_and_expand(tool, errors, has_stub));
    out
}

/// Returns the function as plain Rust: without our attributes, and without doc comments on parameters, which are invalid there.
/// Also repairs mistakes that another check reports, so that the compiler does not report them again.
pub fn plain_function(mut function: ToolFn) -> TokenStream {
    for input in &mut function.sig.inputs {
        // Another check reports the unsized type.
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
        attrs.retain(|attr| !must_be_removed(attr) && !attr.path().is_ident("doc"));
    }
    function.replace_borrowed_output();
    // Another check reports an `.await` outside an `async fn`.
    function.sig.asyncness = function.sig.asyncness.or_else(|| function.await_outside_async().map(syn::Token![async]));
    function.give_body();
    // A tool owns its decoded arguments. This attribute is first, so that the user's own attributes about lints prevail.
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

/// The maximum number of copies of a method: one for each combination of the predicates of `cfg` on its parameters.
const MAX_CASES: usize = 16;

/// Expands `#[tools] impl Type { … }`.
pub fn toolset_impl(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Options { krate, allow, .. } = Options::of_impl(args, &mut errors);
    let mut block = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) if block.trait_.is_none() => block,
        _ => {
            errors.over(first_word(&item), text::NOT_AN_IMPL);
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
    let mut method_tools = Vec::new();
    let mut tools = TokenStream::new();
    let mut found = false;
    block.items = block.items.iter().flat_map(|item| split_by_case(item, &mut errors)).collect();
    for item in &mut block.items {
        let Some((attr, mut function)) = marked_method(item) else {
            refuse_tool_attribute(item, &mut errors);
            continue;
        };
        found = true;
        let mut errors = Errors::default();
        remove_misplaced(&mut function.attrs, &mut errors);
        let args = match &attr.meta {
            syn::Meta::List(list) => replace_self_type(list.tokens.clone(), &owner),
            _ => TokenStream::new(),
        };
        let mut options = Options::of_tool(args, &mut errors);
        options.krate = options.krate.or_else(|| krate.clone());
        options.allow.extend(&allow);
        let method_tool = resolve::function::resolve_method_tool(&owner, &function);
        let outside = function.outside_impl(&owner);
        let tool = resolve::function::resolve_function(
            &outside,
            method_tool.tool_type.clone(),
            Some(&owner),
            options,
            &mut errors,
        );
        *item = ImplItem::Verbatim(plain_function(function));
        if is_generic {
            check::check(&tool, &mut errors);
            tools.extend(errors.finish());
        } else {
            let cfg = &method_tool.cfg;
            let (tool_struct, contexts) = (expand::tool_struct(&tool), context_structs(&tool));
            let items = std::iter::once(tool_struct).chain(contexts).chain(check_and_expand(&tool, errors, true));
            tools.extend(items.map(|item| quote!(#(#cfg)* #item)));
            method_tools.push(method_tool);
        }
    }
    if !found {
        errors.over(&block.self_ty, text::NO_TOOLS);
    }
    let method = expand::toolset_method(&block, krate.as_ref(), &method_tools);
    let errors = errors.finish();
    quote!(#block #tools #method #errors)
}

/// Returns a method that is marked `#[tool]`, with the attribute.
fn marked_method(item: &ImplItem) -> Option<(Attribute, ToolFn)> {
    let tokens = match item {
        ImplItem::Fn(method) => method.to_token_stream(),
        // An item that syn does not know, such as a method without a body.
        ImplItem::Verbatim(tokens) => tokens.clone(),
        _ => return None,
    };
    let mut function = syn::parse2::<ToolFn>(tokens).ok()?;
    let is_tool_attribute = |attr: &Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "tool");
    let index = function.attrs.iter().position(is_tool_attribute)?;
    Some((function.attrs.remove(index), function))
}

/// Returns a copy of a tool's method for each combination of the `cfg` predicates on its parameters, and any other item alone.
/// More than [`MAX_CASES`] copies are an error.
fn split_by_case(item: &ImplItem, errors: &mut Errors) -> Vec<ImplItem> {
    let mut open = vec![item.clone()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let split = marked_method(&next).and_then(|(attr, function)| Some((attr, function.split_by_cfg()?)));
        let Some((attr, (predicate, functions))) = split else {
            done.push(next);
            continue;
        };
        let each = cfg_cases(&predicate).into_iter().zip(functions);
        open.extend(each.rev().map(|(case, function)| ImplItem::Verbatim(quote!(#case #attr #function))));
        if open.len() + done.len() > MAX_CASES
            && let Some((_, function)) = marked_method(item)
        {
            errors.over(&function.sig.ident, text::TOO_MANY_CASES);
            return vec![ImplItem::Verbatim(plain_function(function))];
        }
    }
    done
}

/// Reports and removes `#[tool]` on an item that is not a method.
fn refuse_tool_attribute(item: &mut ImplItem, errors: &mut Errors) {
    let attrs = match item {
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return,
    };
    attrs.retain(|attr| {
        let is_tool_attribute = attr.path().is_ident("tool");
        if is_tool_attribute {
            errors.over(attr.path(), text::NOT_A_METHOD);
        }
        !is_tool_attribute
    });
}

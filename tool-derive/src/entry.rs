//! The macros as functions over `proc_macro2`. A declaration goes through the stages syntax, resolve, check and expand.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, DeriveInput, ImplItem, ItemEnum, ItemImpl, ItemStruct, ItemTrait, Meta, Path, TraitItem, Visibility,
    parse::{ParseStream, Parser},
};

use crate::declaration::ToolDef;
use crate::diag::{Errors, text};
use crate::resolve::{self, data};
use crate::syntax::{
    attribute::{is_parameter_attribute, must_be_removed, remove_misplaced},
    cfg::{CfgItem, cfg_cases, split_by_cfg_attr},
    item::{ToolFn, replace_self_type},
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
    derive_by_case(item, &|item| derive_case(item, attribute, expand))
}

/// Expands a derive. If an entry of its options is under `cfg`, writes the code for both cases, each item under its `cfg`.
fn derive_by_case(item: TokenStream, expand: &dyn Fn(DeriveInput) -> TokenStream) -> TokenStream {
    match syn::parse2(item) {
        Ok(item) => expand_cases(item, MAX_PREDICATES, expand),
        Err(error) => error.into_compile_error(),
    }
}

/// Expands a derive's item for each combination of at most `left` predicates.
fn expand_cases(item: DeriveInput, left: usize, expand: &dyn Fn(DeriveInput) -> TokenStream) -> TokenStream {
    let Some((predicate, items)) = item.split_by_cfg() else { return expand(item) };
    if left == 0 {
        return syn::Error::new(item.ident.span(), text::TOO_MANY_INPUT_CASES).into_compile_error();
    }
    let cases = cfg_cases(&predicate).into_iter().zip(items).map(|(case, item)| {
        let code = expand_cases(item, left - 1, expand);
        let items = syn::parse2::<syn::File>(code).map(|file| file.items).unwrap_or_default();
        quote!(#(#case #items)*)
    });
    cases.collect()
}

fn derive_case(
    item: DeriveInput,
    attribute: &str,
    expand: fn(DeriveInput, Option<&Path>, &mut Errors) -> Option<TokenStream>,
) -> TokenStream {
    let mut errors = Errors::default();
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
    derive_by_case(item, &|item| dynamic_input_case(&item))
}

fn dynamic_input_case(item: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = data::resolve_nested_input(item, &mut errors) else { return errors.finish() };
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
            // Each error is an item of its own, so that all are under the `cfg` of a method.
            stub.into_iter().chain(error.into_iter().map(syn::Error::into_compile_error)).collect()
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
        return expand_by_case("tool", args, function, |args, function| expand_function(args, &item, function));
    }
    if let Ok(item) = syn::parse2::<ItemEnum>(item.clone()) {
        return expand_by_case("tool", args, item, expand_enum);
    }
    match syn::parse2::<ItemStruct>(item.clone()) {
        Ok(structure) => expand_by_case("tool", args, structure, expand_struct),
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

/// Expands an item with the attribute `name`. If a part of the item, or an entry of its options, is under `cfg`, writes two items
/// instead: one for each case, under its `cfg` and the attribute.
fn expand_by_case<I: CfgItem + ToTokens>(
    name: &str,
    args: &TokenStream,
    item: I,
    expand: impl FnOnce(TokenStream, I) -> TokenStream,
) -> TokenStream {
    let declared = (args.clone(), item);
    let Some((predicate, copies)) = declared.split_by_cfg() else { return expand(declared.0, declared.1) };
    let name = quote::format_ident!("{name}");
    let cases = cfg_cases(&predicate).into_iter().zip(copies).map(|(case, (args, item))| {
        // The copy that the compiler keeps reports the errors in the options.
        let mut errors = Errors::default();
        let krate = Options::of_tool(args.clone(), &mut errors).krate;
        errors.discard();
        let macro_path = match krate {
            Some(krate) => quote!(#krate::#name),
            None => quote!(::tool_runtime::#name),
        };
        quote!(#case #[#macro_path(#args)] #item)
    });
    cases.collect()
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

/// The maximum number of predicates of `cfg` on the parameters and options of a method, or on the options of a derive.
const MAX_PREDICATES: usize = 4;

/// The maximum number of copies of a method: one for each combination of the predicates.
const MAX_CASES: usize = 1 << MAX_PREDICATES;

/// Expands `#[tools] impl Type { … }`.
pub fn toolset_impl(args: &TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) if block.trait_.is_none() => expand_by_case("tools", args, block, expand_impl),
        other => {
            let mut errors = Errors::default();
            let word = first_word(&item);
            let plain = match other {
                Ok(block) => Some(unmarked_impl(block)),
                Err(_) => unmarked_trait(item.clone()),
            };
            errors.over(word, if plain.is_some() { text::TOOLS_OF_TRAIT } else { text::NOT_AN_IMPL });
            let (plain, errors) = (plain.unwrap_or(item), errors.finish());
            quote!(#plain #errors)
        }
    }
}

/// Returns an impl whose marked methods are plain ones: an error about the whole block is enough.
fn unmarked_impl(mut block: ItemImpl) -> TokenStream {
    for item in &mut block.items {
        if let Some((_, function)) = marked_method(item) {
            *item = ImplItem::Verbatim(plain_function(function));
        }
    }
    block.into_token_stream()
}

/// Returns a trait whose marked methods are plain ones, or `None` for any other item.
fn unmarked_trait(item: TokenStream) -> Option<TokenStream> {
    let mut block: ItemTrait = syn::parse2(item).ok()?;
    for item in &mut block.items {
        if let Some((_, function)) = syn::parse2(item.to_token_stream()).ok().and_then(marked) {
            *item = TraitItem::Verbatim(plain_function(function));
        }
    }
    Some(block.into_token_stream())
}

fn expand_impl(args: TokenStream, mut block: ItemImpl) -> TokenStream {
    let mut errors = Errors::default();
    let Options { krate, allow, lints, .. } = Options::of_impl(args, &mut errors);
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
        options.lints.extend(lints.iter().cloned());
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

/// Returns a method of an impl.
fn method(item: &ImplItem) -> Option<ToolFn> {
    let tokens = match item {
        ImplItem::Fn(method) => method.to_token_stream(),
        // An item that syn does not know, such as a method without a body.
        ImplItem::Verbatim(tokens) => tokens.clone(),
        _ => return None,
    };
    syn::parse2(tokens).ok()
}

/// Returns a method that is marked `#[tool]`, with the attribute.
fn marked_method(item: &ImplItem) -> Option<(Attribute, ToolFn)> {
    marked(method(item)?)
}

/// Returns a function that is marked `#[tool]`, with the attribute.
fn marked(mut function: ToolFn) -> Option<(Attribute, ToolFn)> {
    let is_tool_attribute = |attr: &Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "tool");
    let index = function.attrs.iter().position(is_tool_attribute)?;
    Some((function.attrs.remove(index), function))
}

/// Returns a copy of a method for each combination of the `cfg` predicates on its attributes, parameters and options, and any
/// other item alone.
/// More than [`MAX_CASES`] copies are an error.
fn split_by_case(item: &ImplItem, errors: &mut Errors) -> Vec<ImplItem> {
    let mut open = vec![item.clone()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let by_attr = method(&next).and_then(|method| split_by_cfg_attr(&method));
        let split =
            by_attr.map(|(predicate, copies)| (predicate, copies.map(ToTokens::into_token_stream))).or_else(|| {
                let (predicate, copies) = marked_method(&next)?.split_by_cfg()?;
                Some((predicate, copies.map(|(attr, function)| quote!(#attr #function))))
            });
        let Some((predicate, copies)) = split else {
            done.push(next);
            continue;
        };
        let each = cfg_cases(&predicate).into_iter().zip(copies);
        open.extend(each.rev().map(|(case, copy)| ImplItem::Verbatim(quote!(#case #copy))));
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

//! `#[tools]` on an impl.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, ImplItem, ItemImpl};

use super::{context_structs, finish, head, item::plain};
use crate::{
    check,
    diag::{Errors, text},
    expand,
    resolve::function as resolve,
    syntax::{
        attribute::misplaced,
        cfg::{Parts, cases},
        item::{ToolFn, without_self},
        options::Options,
    },
};

/// The most often that a method is written, once for each combination of the predicates of `cfg` on its parameters.
const MOST_CASES: usize = 16;

/// `#[tools] impl Type { … }`.
pub(crate) fn toolset_impl(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Options { krate, allow, .. } = Options::of_impl(args, &mut errors);
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
    block.items = block.items.iter().flat_map(|item| by_case(item, &mut errors)).collect();
    for item in &mut block.items {
        let Some((attr, mut function)) = method(item) else {
            refuse_other(item, &mut errors);
            continue;
        };
        found = true;
        let mut errors = Errors::default();
        misplaced(&mut function.attrs, &mut errors);
        let args = match &attr.meta {
            syn::Meta::List(list) => without_self(list.tokens.clone(), &owner),
            _ => TokenStream::new(),
        };
        let mut options = Options::of_tool(args, &mut errors);
        options.krate = options.krate.or_else(|| krate.clone());
        options.allow.extend(&allow);
        let member = resolve::method(&owner, &function);
        let outside = function.outside(&owner);
        let tool = resolve::function(&outside, member.marker.clone(), Some(&owner), options, &mut errors);
        *item = ImplItem::Verbatim(plain(function));
        if is_generic {
            check::check(&tool, &mut errors);
            tools.extend(errors.finish());
        } else {
            let cfg = &member.cfg;
            let (marker, contexts) = (expand::marker_struct(&tool), context_structs(&tool));
            let items = std::iter::once(marker).chain(contexts).chain(finish(&tool, errors, true));
            tools.extend(items.map(|item| quote!(#(#cfg)* #item)));
            members.push(member);
        }
    }
    if !found {
        errors.over(&block.self_ty, text::NO_TOOLS);
    }
    let method = expand::toolset_method(&block, krate.as_ref(), &members);
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

/// Returns the item; a tool whose parameters depend on the build, once for each combination of what they depend on.
fn by_case(item: &ImplItem, errors: &mut Errors) -> Vec<ImplItem> {
    let mut open = vec![item.clone()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let split = method(&next).and_then(|(attr, function)| Some((attr, function.split()?)));
        let Some((attr, (predicate, functions))) = split else {
            done.push(next);
            continue;
        };
        let each = cases(&predicate).into_iter().zip(functions);
        open.extend(each.rev().map(|(case, function)| ImplItem::Verbatim(quote!(#case #attr #function))));
        if open.len() + done.len() > MOST_CASES
            && let Some((_, function)) = method(item)
        {
            errors.over(&function.sig.ident, text::TOO_MANY_CASES);
            return vec![ImplItem::Verbatim(plain(function))];
        }
    }
    done
}

/// An item that is marked `#[tool]` and no method.
fn refuse_other(item: &mut ImplItem, errors: &mut Errors) {
    let attrs = match item {
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return,
    };
    attrs.retain(|attr| {
        let marks = attr.path().is_ident("tool");
        if marks {
            errors.over(attr.path(), text::NOT_A_METHOD);
        }
        !marks
    });
}

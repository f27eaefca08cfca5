//! Resolves a function's signature into a tool.

use quote::{format_ident, quote};
use syn::{
    FnArg, GenericParam, Generics, Ident, Pat, PatType, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type,
    ext::IdentExt, spanned::Spanned as _,
};

use super::{find_unowned, head, param, param_attrs, tool};
use crate::diag::{Errors, text};
use crate::model::{Argument, Body, Function, Head, Input, MethodTool, Param, Params, StateArg, ToolDef};
use crate::syntax::{
    attribute::refusal,
    item::ToolFn,
    options::Options,
    params::{ParamAttrs, Role},
    serde::pascal,
    types::{Returns, find_borrow, is_future, returns, unnamed},
};

/// Returns a function as a tool with the marker `marker`; `owner` is the type of which it is a method.
pub fn function(item: &ToolFn, marker: Ident, owner: Option<&Type>, options: Options, errors: &mut Errors) -> ToolDef {
    let ((function, fields), is_sound) = errors.watch(|errors| signature(item, owner, errors));
    let path = quote!(#marker);
    let head = Head { ident: marker, ..head(&item.sig.ident, &item.vis, &item.attrs, &options, is_sound) };
    let input = Input::Params(Params { path, tag: None, fields });
    tool(head, options, input, Body::Function(Box::new(function)))
}

/// Returns the method `function` of `owner`, as a member of the owner's toolset.
pub fn method(owner: &Type, function: &ToolFn) -> MethodTool {
    let owner = match owner {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.unraw().to_string()),
        _ => None,
    };
    let method = &function.sig.ident;
    let pascal = pascal(&method.unraw().to_string());
    let marker = format_ident!("{}{}", owner.unwrap_or_default(), pascal, span = method.span());
    let cfg = function.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
    MethodTool { marker, cfg }
}

/// Returns the call of the function, and the parameters that the model provides.
fn signature(item: &ToolFn, owner: Option<&Type>, errors: &mut Errors) -> (Function, Vec<Param>) {
    let sig = &item.sig;
    generics(&sig.generics, errors);
    if let Safety::Unsafe(unsafety) = &sig.safety {
        errors.over(unsafety, text::UNSAFE_TOOL);
    }
    if let Some(abi) = &sig.abi {
        errors.over(abi, text::EXTERN_TOOL);
    }
    if !item.has_body() {
        errors.over(sig, text::NO_BODY);
    }
    if let Some(span) = item.awaits() {
        errors.at(span, text::AWAIT_WITHOUT_ASYNC);
    }
    let mut args = Vec::new();
    let mut fields = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(_) if owner.is_none() => {}
            FnArg::Receiver(given) => receiver(given, errors),
            FnArg::Typed(given) => args.extend(argument(given, &mut fields, errors)),
        }
    }
    if owner.is_some() && sig.receiver().is_none() {
        errors.over(&sig.ident, text::NO_SELF);
    }
    let (returns, is_stream) = output(sig, errors);
    let ident = &sig.ident;
    let path = match owner {
        Some(owner) => quote!(<#owner>::#ident),
        None => quote!(#ident),
    };
    let returns_span = match &sig.output {
        ReturnType::Default => ident.span(),
        ReturnType::Type(..) => returns.span(),
    };
    let (owner, span, is_async) = (owner.cloned(), ident.span(), sig.asyncness.is_some());
    (Function { path, owner, span, is_async, is_stream, args, returns, returns_span }, fields)
}

/// Checks the generics: a function may have lifetimes, for its state. Lifetimes that reach further are reported there.
fn generics(generics: &Generics, errors: &mut Errors) {
    for param in generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))) {
        errors.over(param, text::GENERIC_TOOL);
    }
}

/// Checks that a method takes `&self`.
fn receiver(receiver: &Receiver, errors: &mut Errors) {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(_, _, Some(_)) => errors.over(receiver, text::MUT_SELF),
        _ => errors.over(receiver, text::OWNED_SELF),
    }
}

/// Returns the type of the output, or of each item of a stream; and whether it is a stream.
fn output(sig: &Signature, errors: &mut Errors) -> (Type, bool) {
    let ReturnType::Type(_, ty) = &sig.output else { return (syn::parse_quote!(()), false) };
    let unit = syn::parse_quote!(());
    let (value, is_stream) = match returns(ty) {
        Returns::Stream(item) => (item, true),
        Returns::Value => (&**ty, false),
        Returns::Unknown => {
            errors.over(ty, text::STREAM_ITEM);
            (&unit, false)
        }
        Returns::InResult => {
            errors.over(ty, text::STREAM_IN_RESULT);
            (&unit, false)
        }
    };
    if is_future(ty) {
        errors.over(ty, text::RETURNED_FUTURE);
    } else if let Some(found) = unnamed(value) {
        errors.over(found, text::IMPL_OUTPUT);
    } else if let Some(found) = find_borrow(value, true) {
        errors.over(found, text::BORROWED_OUTPUT);
    }
    (value.clone(), is_stream)
}

/// Returns the argument for a parameter of the function. Adds a parameter that the model provides to `fields`.
fn argument(given: &PatType, fields: &mut Vec<Param>, errors: &mut Errors) -> Option<Argument> {
    let (attrs, is_sound) = errors.watch(|errors| {
        for attr in &given.attrs {
            if let Some(refusal) = refusal(attr) {
                errors.over(attr.path(), refusal);
            }
        }
        param_attrs(&given.attrs, errors)
    });
    let role = attrs.role.as_ref().map_or(Role::Arg, |role| role.value);
    if role == Role::Arg {
        fields.push(field(given, attrs, is_sound, errors)?);
        return Some(Argument::Param);
    }
    let (ty, by_ref) = match &*given.ty {
        Type::Reference(reference) => {
            if reference.mutability.is_some() {
                errors.over(reference, text::MUT_STATE);
            }
            (Type::clone(&reference.elem), true)
        }
        ty => (ty.clone(), false),
    };
    if role == Role::Context {
        return Some(Argument::Context { ty, by_ref });
    }
    if let Some(found) = find_borrow(&ty, true) {
        errors.over(found, text::BORROWED_STATE);
    }
    let ident = match &*given.pat {
        Pat::Ident(pat) => Some(pat.ident.clone()),
        _ => None,
    };
    Some(Argument::State(StateArg { ident, ty, by_ref }))
}

/// Returns a parameter that the model provides; `None` if it cannot be one.
fn field(given: &PatType, attrs: ParamAttrs, is_sound: bool, errors: &mut Errors) -> Option<Param> {
    let unowned = find_unowned(&given.ty);
    if !is_sound {
        // Its attributes are wrong, so their intended effect on its type is unknown.
        return match (&*given.pat, unowned) {
            (Pat::Ident(pat), None) => Some(param(&pat.ident, &given.ty, &given.attrs, attrs)),
            _ => None,
        };
    }
    let wrong = match (&*given.pat, unowned) {
        (_, Some((place, wrong))) => {
            errors.over(place, wrong);
            return None;
        }
        (Pat::Ident(pat), None) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            return Some(param(&pat.ident, &given.ty, &given.attrs, attrs));
        }
        (Pat::Wild(_), None) => text::PATTERN_WILD,
        (_, None) => text::PATTERN_PARAMETER,
    };
    errors.over(&given.pat, wrong);
    None
}

//! Resolves a function's signature into a tool.

use quote::{format_ident, quote};
use syn::{
    FnArg, GenericParam, Generics, Ident, Pat, PatType, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type,
    ext::IdentExt, spanned::Spanned as _,
};

use super::{build_head, build_param, build_tool, find_invalid_type, read_param_attrs};
use crate::declaration::{
    Argument, Body, DeclarationHead, DerivedArg, Function, Input, MethodTool, Param, Params, StateArg, ToolDef,
};
use crate::diag::{Errors, text};
use crate::syntax::{
    attribute::find_misuse,
    item::ToolFn,
    options::Options,
    params::{ParamAttrs, Role},
    serde_attrs::pascal_case,
    types::{ReturnKind, find_borrow, find_impl_trait, is_future, return_kind},
};

/// Resolves a function into a tool with the type `tool_type`. For a method, `owner` is the type of `self`.
pub fn resolve_function(
    item: &ToolFn,
    tool_type: Ident,
    owner: Option<&Type>,
    options: Options,
    errors: &mut Errors,
) -> ToolDef {
    let ((function, fields), is_sound) = errors.watch(|errors| resolve_signature(item, owner, errors));
    let path = quote!(#tool_type);
    let head =
        DeclarationHead { ident: tool_type, ..build_head(&item.sig.ident, &item.vis, &item.attrs, &options, is_sound) };
    let input = Input::Params(Params { path, tag: None, fields });
    build_tool(head, options, input, Body::Function(Box::new(function)))
}

/// Resolves the method `function` of `owner` into a tool of the owner's toolset.
pub fn resolve_method_tool(owner: &Type, function: &ToolFn) -> MethodTool {
    let owner = match owner {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.unraw().to_string()),
        _ => None,
    };
    let method = &function.sig.ident;
    let pascal_case = pascal_case(&method.unraw().to_string());
    let tool_type = format_ident!("{}{}", owner.unwrap_or_default(), pascal_case, span = method.span());
    let cfg = function.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
    MethodTool { tool_type, cfg }
}

/// Resolves the signature. Returns the function, and the parameters that the model provides.
fn resolve_signature(item: &ToolFn, owner: Option<&Type>, errors: &mut Errors) -> (Function, Vec<Param>) {
    let sig = &item.sig;
    check_generics(&sig.generics, errors);
    if let Safety::Unsafe(unsafety) = &sig.safety {
        errors.over(unsafety, text::UNSAFE_TOOL);
    }
    if let Some(abi) = &sig.abi {
        errors.over(abi, text::EXTERN_TOOL);
    }
    if !item.has_body() {
        errors.over(sig, text::NO_BODY);
    }
    if let Some(span) = item.await_outside_async() {
        errors.at(span, text::AWAIT_WITHOUT_ASYNC);
    }
    let mut args = Vec::new();
    let mut fields = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(_) if owner.is_none() => {}
            FnArg::Receiver(receiver) => check_receiver(receiver, errors),
            FnArg::Typed(param) => args.extend(resolve_argument(param, &mut fields, errors)),
        }
    }
    if owner.is_some() && sig.receiver().is_none() {
        errors.over(&sig.ident, text::NO_SELF);
    }
    let (returns, is_stream) = resolve_output(sig, errors);
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

/// Checks that a function has no generic parameters except lifetimes, which the types of its state may need. Other checks
/// report types that borrow.
fn check_generics(generics: &Generics, errors: &mut Errors) {
    for param in generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))) {
        errors.over(param, text::GENERIC_TOOL);
    }
}

/// Checks that a method takes `&self`.
fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(_, _, Some(_)) => errors.over(receiver, text::MUT_SELF),
        _ => errors.over(receiver, text::OWNED_SELF),
    }
}

/// Resolves the return type. Returns the type of the output or of a stream's items, and whether the function returns a stream.
fn resolve_output(sig: &Signature, errors: &mut Errors) -> (Type, bool) {
    let ReturnType::Type(_, ty) = &sig.output else { return (syn::parse_quote!(()), false) };
    let unit = syn::parse_quote!(());
    let (value, is_stream) = match return_kind(ty) {
        ReturnKind::Stream(item) => (item, true),
        ReturnKind::Value => (&**ty, false),
        ReturnKind::StreamOfUnknown => {
            errors.over(ty, text::STREAM_ITEM);
            (&unit, false)
        }
        ReturnKind::StreamInResult => {
            errors.over(ty, text::STREAM_IN_RESULT);
            (&unit, false)
        }
    };
    if is_future(ty) {
        errors.over(ty, text::RETURNED_FUTURE);
    } else if let Some(found) = find_impl_trait(value) {
        errors.over(found, text::IMPL_OUTPUT);
    } else if let Some(found) = find_borrow(value, true) {
        errors.over(found, text::BORROWED_OUTPUT);
    }
    (value.clone(), is_stream)
}

/// Resolves a parameter of the function into an argument. Adds it to `fields` if the model provides it.
fn resolve_argument(param: &PatType, fields: &mut Vec<Param>, errors: &mut Errors) -> Option<Argument> {
    let (attrs, is_sound) = errors.watch(|errors| {
        for attr in &param.attrs {
            if let Some(misuse) = find_misuse(attr) {
                errors.over(attr.path(), misuse);
            }
        }
        read_param_attrs(&param.attrs, errors)
    });
    let role = attrs.role.as_ref().map_or(Role::Arg, |role| role.value);
    if role == Role::Arg {
        fields.push(resolve_field(param, attrs, is_sound, errors)?);
        return Some(Argument::Param);
    }
    let (ty, by_ref) = match &*param.ty {
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
    if role == Role::Derived {
        if by_ref {
            errors.over(&param.ty, text::DERIVED_REFERENCE);
        }
        let Pat::Ident(pat) = &*param.pat else {
            errors.over(&param.pat, text::DERIVED_PATTERN);
            return None;
        };
        return Some(Argument::Derived(DerivedArg { ident: pat.ident.clone(), ty }));
    }
    if let Some(found) = find_borrow(&ty, true) {
        errors.over(found, text::BORROWED_STATE);
    }
    let ident = match &*param.pat {
        Pat::Ident(pat) => Some(pat.ident.clone()),
        _ => None,
    };
    Some(Argument::State(StateArg { ident, ty, by_ref }))
}

/// Resolves a parameter that the model provides. Returns `None` if its pattern is not a name, or if its type is invalid.
fn resolve_field(param: &PatType, attrs: ParamAttrs, is_sound: bool, errors: &mut Errors) -> Option<Param> {
    let invalid_type = find_invalid_type(&param.ty);
    if !is_sound {
        // The attributes of the parameter are wrong. Another role may be meant, so an error about its type could be wrong, too.
        return match (&*param.pat, invalid_type) {
            (Pat::Ident(pat), None) => Some(build_param(&pat.ident, &param.ty, &param.attrs, attrs)),
            _ => None,
        };
    }
    let wrong = match (&*param.pat, invalid_type) {
        (_, Some((place, wrong))) => {
            errors.over(place, wrong);
            return None;
        }
        (Pat::Ident(pat), None) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            return Some(build_param(&pat.ident, &param.ty, &param.attrs, attrs));
        }
        (Pat::Wild(_), None) => text::PATTERN_WILD,
        (_, None) => text::PATTERN_PARAMETER,
    };
    errors.over(&param.pat, wrong);
    None
}

//! From a function's signature, or a struct's fields, to a [`Tool`].

use quote::{ToTokens as _, quote};
use syn::{
    Attribute, Data, DeriveInput, FnArg, GenericParam, Generics, Ident, ItemStruct, Pat, PatType, ReceiverKind,
    ReturnType, Safety, Type, Visibility, ext::IdentExt, spanned::Spanned as _,
};

use super::{
    attribute::refusal,
    borrow::{borrowed, is_context, is_unsized, unnamed},
    doc::Doc,
    fields::{fields, rename_all},
    item::ToolFn,
    options::Options,
    params::{ParamAttrs, Role},
    stream::{Returns, is_future, returns},
};
use crate::{
    diag::{Errors, text},
    model::{Arg, Body, Function, Input, Tool},
};

/// A function, as a tool whose marker is `marker`; `owner` is the type that it is a method of.
pub(crate) fn function(
    item: &ToolFn,
    marker: Ident,
    owner: Option<&Type>,
    options: Options,
    errors: &mut Errors,
) -> Tool {
    let sig = &item.sig;
    let before = errors.count();
    generics(&sig.generics, errors);
    if let Safety::Unsafe(unsafety) = &sig.safety {
        errors.over(unsafety, text::UNSAFE);
    }
    if !item.has_body() {
        errors.over(sig, text::NO_BODY);
    }
    let mut inputs = Vec::new();
    let mut has_self = false;
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(_) if owner.is_none() => {}
            FnArg::Receiver(receiver) => {
                has_self = true;
                match &receiver.kind {
                    ReceiverKind::Reference(_, _, None) => {}
                    ReceiverKind::Reference(_, _, Some(_)) => errors.over(receiver, text::MUT_SELF),
                    _ => errors.over(receiver, text::OWNED_SELF),
                }
            }
            FnArg::Typed(param) => inputs.extend(parameter(param, errors)),
        }
    }
    if owner.is_some() && !has_self {
        errors.over(&sig.ident, text::NO_SELF);
    }
    let mut is_stream = false;
    let (value, returns_span) = match &sig.output {
        ReturnType::Default => (syn::parse_quote!(()), sig.ident.span()),
        ReturnType::Type(_, ty) => {
            let value = match returns(ty) {
                Returns::Stream(item) => {
                    is_stream = true;
                    item
                }
                Returns::Value => &**ty,
                Returns::Unsaid | Returns::InResult => {
                    let said =
                        if matches!(returns(ty), Returns::Unsaid) { text::STREAM_ITEM } else { text::STREAM_IN_RESULT };
                    errors.over(ty, said);
                    &syn::parse_quote!(())
                }
            };
            if is_future(ty) {
                errors.over(ty, text::FUTURE);
            } else if let Some(found) = unnamed(value) {
                errors.over(found, text::IMPL_OUTPUT);
            } else if let Some(found) = borrowed(value, true) {
                errors.over(found, text::BORROWED_OUTPUT);
            }
            (Type::clone(value), value.span())
        }
    };
    let ident = &sig.ident;
    let path = match owner {
        Some(owner) => quote!(<#owner>::#ident),
        None => quote!(#ident),
    };
    let is_async = sig.asyncness.is_some();
    let body = Body::Fn(Box::new(Function {
        path,
        owner: owner.cloned(),
        span: ident.span(),
        is_async,
        is_stream,
        returns: value,
        returns_span,
    }));
    Tool {
        name: name(&options, ident),
        description: description(&options, &item.attrs),
        sound: errors.count() == before,
        vis: item.vis.clone(),
        path: quote!(#marker),
        union: None,
        marker,
        options,
        inputs,
        body,
    }
}

/// A struct, as a tool.
pub(crate) fn structure(item: &ItemStruct, options: Options, errors: &mut Errors) -> Tool {
    let before = errors.count();
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::GENERIC);
    }
    let is_generic = !item.generics.params.is_empty();
    let mut inputs = fields(&item.fields, is_generic, text::TUPLE_STRUCT, errors);
    rename_all(&item.attrs, &mut inputs);
    of_type((&item.ident, &item.vis, &item.attrs), options, errors.count() == before, inputs)
}

/// A struct that is nested, as far as it is like a tool; `None` when it is none.
pub(crate) fn input(item: &DeriveInput, errors: &mut Errors) -> Option<Tool> {
    let options = Options::of_input(&item.attrs, errors);
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::INPUT);
        return None;
    };
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::INPUT_GENERIC);
        return None;
    }
    let before = errors.count();
    let mut inputs = fields(&data.fields, false, text::INPUT, errors);
    rename_all(&item.attrs, &mut inputs);
    Some(of_type((&item.ident, &item.vis, &item.attrs), options, errors.count() == before, inputs))
}

/// A type, by its name, visibility and attributes, as a tool.
pub(super) fn of_type(
    (ident, vis, attrs): (&Ident, &Visibility, &[Attribute]),
    options: Options,
    sound: bool,
    inputs: Vec<Input>,
) -> Tool {
    Tool {
        name: name(&options, ident),
        description: description(&options, attrs),
        sound,
        marker: ident.clone(),
        vis: vis.clone(),
        path: ident.to_token_stream(),
        union: None,
        options,
        inputs,
        body: Body::Struct,
    }
}

fn parameter(param: &PatType, errors: &mut Errors) -> Option<Input> {
    let start = errors.count();
    for attr in &param.attrs {
        if let Some(refusal) = refusal(attr) {
            errors.over(attr.path(), refusal);
        }
    }
    let attrs = ParamAttrs::parse(&param.attrs, errors);
    let (ty, by_ref) = match &*param.ty {
        Type::Reference(reference) => (&*reference.elem, true),
        ty => (ty, false),
    };
    let role = attrs.role.as_ref().map_or(Role::Arg, |role| role.value);
    if let (Type::Reference(reference), Role::State | Role::Context) = (&*param.ty, role)
        && reference.mutability.is_some()
    {
        errors.over(reference, text::MUT_STATE);
    }
    match role {
        Role::State => {
            if let Some(found) = borrowed(ty, true) {
                errors.over(found, text::BORROWED_STATE);
            }
            let ident = match &*param.pat {
                Pat::Ident(pat) => Some(pat.ident.clone()),
                _ => None,
            };
            return Some(Input::State { ident, ty: Box::new(ty.clone()), by_ref });
        }
        Role::Context => return Some(Input::Context { ty: Box::new(ty.clone()), by_ref }),
        Role::Arg => {}
    }
    let before = errors.count();
    if before > start {
        // What its attributes were meant to say of its type is not known.
        let mut unsaid = Errors::default();
        owned(&param.ty, &mut unsaid);
        return match &*param.pat {
            Pat::Ident(pat) if unsaid.count() == 0 => Some(arg(&pat.ident, &param.ty, &param.attrs, attrs)),
            _ => None,
        };
    }
    owned(&param.ty, errors);
    let wrong = match &*param.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            return (errors.count() == before).then(|| arg(&pat.ident, &param.ty, &param.attrs, attrs));
        }
        Pat::Wild(_) => text::PATTERN_WILD,
        _ => text::PATTERN,
    };
    if errors.count() == before {
        errors.over(&param.pat, wrong);
    }
    None
}

pub(super) fn arg(ident: &Ident, ty: &Type, docs: &[Attribute], attrs: ParamAttrs) -> Input {
    let name = attrs.rename.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    Input::Arg(Box::new(Arg { ident: ident.clone(), ty: ty.clone(), name, doc: Doc::of(docs), attrs, tag: None }))
}

pub(super) fn owned(ty: &Type, errors: &mut Errors) {
    if let Some(found) = unnamed(ty) {
        errors.over(found, text::IMPL_TRAIT);
    } else if is_unsized(ty) {
        errors.over(ty, text::UNSIZED);
    } else if is_context(ty) {
        errors.over(ty, text::CONTEXT_UNMARKED);
    } else if let Some(found) = borrowed(ty, false) {
        errors.over(found, text::REFERENCE);
    }
}

/// A function may have lifetimes, for its state; where they reach further, that is said there.
fn generics(generics: &Generics, errors: &mut Errors) {
    for param in generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))) {
        errors.over(param, text::GENERIC);
    }
}

fn name(options: &Options, ident: &Ident) -> String {
    match &options.name {
        Some(name) => name.value(),
        None => ident.unraw().to_string(),
    }
}

fn description(options: &Options, attrs: &[Attribute]) -> Option<Doc> {
    match &options.description {
        Some(expr) => Doc::given(expr),
        None => Doc::of(attrs),
    }
}

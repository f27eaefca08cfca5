//! Resolves a parsed declaration into the model, and checks its shape.

pub mod data;
pub mod function;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Ident, Type, Visibility, ext::IdentExt};

use crate::diag::{Errors, text};
use crate::model::{Body, Head, Input, Param, Start, ToolDef};
use crate::syntax::{
    attribute::Doc,
    options::Options,
    params::{ParamAttrs, Role},
    types::{find_borrow, is_context, is_unsized, unnamed},
};

/// Assembles a tool, and decides how its calls start.
fn tool(head: Head, options: Options, input: Input, body: Body) -> ToolDef {
    let is_asking = match &input {
        Input::Params(params) => params.fields.iter().any(Param::is_dynamic),
        Input::Enum(_) => true,
    };
    let start = if is_asking || options.check.is_some() {
        Start::Asking
    } else if body.state_types().next().is_some() {
        Start::Bound
    } else {
        Start::Free
    };
    ToolDef { head, options, input, body, start }
}

/// Returns the head of a declaration, from its name, visibility, attributes and options.
fn head(ident: &Ident, vis: &Visibility, attrs: &[Attribute], options: &Options, is_sound: bool) -> Head {
    let description = match &options.description {
        Some(expr) => Doc::from_expr(expr),
        None => Doc::of(attrs),
    };
    let name = options.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    Head { ident: ident.clone(), vis: vis.clone(), name, description, krate: options.krate.clone(), is_sound }
}

/// Reads the attributes of a parameter, and refuses combinations that are invalid.
fn param_attrs(attrs: &[Attribute], errors: &mut Errors) -> ParamAttrs {
    let attrs = ParamAttrs::parse(attrs, errors);
    let Some(dynamic) = &attrs.dynamic else { return attrs };
    if dynamic.is_whole && dynamic.options.validate.is_none() && dynamic.options.nested.is_none() {
        errors.at(dynamic.span, text::NO_VALIDATOR);
    }
    if attrs.role.as_ref().is_some_and(|role| role.value != Role::Arg) {
        errors.at(dynamic.span, text::DYNAMIC_ROLE);
    }
    attrs
}

fn param(ident: &Ident, ty: &Type, docs: &[Attribute], attrs: ParamAttrs) -> Param {
    let name = attrs.arg.rename.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    Param { ident: ident.clone(), ty: ty.clone(), name, doc: Doc::of(docs), attrs }
}

/// Returns the reason why `ty` cannot be the type of a parameter that the model provides, with its place.
fn find_unowned(ty: &Type) -> Option<(TokenStream, &'static str)> {
    if let Some(found) = unnamed(ty) {
        Some((found, text::IMPL_TRAIT))
    } else if is_unsized(ty) {
        Some((ty.to_token_stream(), text::UNSIZED_PARAMETER))
    } else if is_context(ty) {
        Some((ty.to_token_stream(), text::CONTEXT_UNMARKED))
    } else {
        find_borrow(ty, false).map(|found| (found, text::REFERENCE_PARAMETER))
    }
}

//! Resolves a parsed declaration into the types of `declaration`, and checks its shape.

pub mod data;
pub mod function;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Ident, Type, Visibility, ext::IdentExt};

use crate::declaration::{Body, DeclarationHead, Input, Param, Start, ToolDef};
use crate::diag::{Errors, text};
use crate::syntax::{
    attribute::Description,
    options::Options,
    params::{ParamAttrs, Role},
    types::{find_borrow, find_impl_trait, is_context_reference, is_unsized},
};

/// Builds a `ToolDef`, and determines its `Start`.
fn build_tool(head: DeclarationHead, options: Options, input: Input, body: Body) -> ToolDef {
    let is_validated = match &input {
        Input::Params(params) => params.fields.iter().any(Param::is_dynamic),
        Input::Enum(_) => true,
    };
    let start = if is_validated || options.check.is_some() {
        Start::Validated
    } else if body.state_types().next().is_some() {
        Start::WithState
    } else {
        Start::Stateless
    };
    ToolDef { head, options, input, body, start }
}

/// Returns the head of a declaration, from its name, visibility, attributes and options.
fn build_head(
    ident: &Ident,
    vis: &Visibility,
    attrs: &[Attribute],
    options: &Options,
    is_sound: bool,
) -> DeclarationHead {
    let description = match &options.description {
        Some(expr) => Description::from_expr(expr),
        None => Description::from_attrs(attrs),
    };
    let name = options.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    DeclarationHead {
        ident: ident.clone(),
        vis: vis.clone(),
        name,
        description,
        krate: options.krate.clone(),
        is_sound,
    }
}

/// Reads the attributes of a parameter, and reports invalid combinations with `#[dynamic]`.
fn read_param_attrs(attrs: &[Attribute], errors: &mut Errors) -> ParamAttrs {
    let attrs = ParamAttrs::parse(attrs, errors);
    let Some(dynamic) = &attrs.dynamic else { return attrs };
    if dynamic.is_valid && dynamic.options.validate.is_none() && dynamic.options.nested.is_none() {
        errors.at(dynamic.span, text::NO_VALIDATOR);
    }
    if attrs.role.as_ref().is_some_and(|role| role.value != Role::Arg) {
        errors.at(dynamic.span, text::DYNAMIC_ROLE);
    }
    attrs
}

fn build_param(ident: &Ident, ty: &Type, docs: &[Attribute], attrs: ParamAttrs) -> Param {
    let name = attrs.arg.rename.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    Param { ident: ident.clone(), ty: ty.clone(), name, description: Description::from_attrs(docs), attrs }
}

/// Returns the invalid tokens in `ty`, and the error message, if `ty` cannot be the type of a parameter.
fn find_invalid_type(ty: &Type) -> Option<(TokenStream, &'static str)> {
    if let Some(found) = find_impl_trait(ty) {
        Some((found, text::IMPL_TRAIT))
    } else if is_unsized(ty) {
        Some((ty.to_token_stream(), text::UNSIZED_PARAMETER))
    } else if is_context_reference(ty) {
        Some((ty.to_token_stream(), text::CONTEXT_UNMARKED))
    } else {
        find_borrow(ty, false).map(|found| (found, text::REFERENCE_PARAMETER))
    }
}

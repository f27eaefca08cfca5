//! From an enum to a [`Tool`] whose input is one of several.

use proc_macro2::Span;
use quote::{format_ident, quote};
use syn::{Fields, ItemEnum, LitStr, Variant, ext::IdentExt};

use super::{
    doc::Doc,
    fields::fields,
    options::Options,
    params::ParamAttrs,
    rename::Rule,
    serde::{self, Way},
    signature::of_type,
};
use crate::{
    diag::{Errors, text},
    model::{Arg, Body, Input, Tool, Union},
};

/// What the tag is called where nothing is said.
const TAG: &str = "kind";

/// An enum, as a tool.
pub(crate) fn enumeration(item: &ItemEnum, options: Options, errors: &mut Errors) -> Tool {
    let before = errors.count();
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::GENERIC);
    }
    if item.variants.is_empty() {
        errors.over(&item.ident, text::NO_VARIANTS);
    }
    let tag = options.tag.clone().or_else(|| serde::text(&item.attrs, "tag", Way::Deserialize));
    let tag = tag.map_or_else(|| (TAG.to_owned(), item.ident.span()), |tag| (tag.value(), tag.span()));
    let rule = serde::text(&item.attrs, "rename_all", Way::Deserialize)
        .and_then(|rule| Rule::of(&rule.value()))
        .unwrap_or(Rule::Snake);
    let variants = item.variants.iter().map(|variant| one(item, &options, variant, &tag.0, rule, errors)).collect();
    let sound = errors.count() == before;
    let tool = of_type((&item.ident, &item.vis, &item.attrs), options, sound, Vec::new());
    Tool { union: Some(Union { tag, variants }), ..tool }
}

/// A variant: what the tag says of it, and the variant as far as it is like a tool.
fn one(
    item: &ItemEnum,
    options: &Options,
    variant: &Variant,
    tag: &str,
    rule: Rule,
    errors: &mut Errors,
) -> (String, Tool) {
    let (own, owner) = (&variant.ident, &item.ident);
    let attrs = ParamAttrs::parse(&variant.attrs, errors);
    if attrs.says_something() || attrs.secret.is_some() || attrs.dynamic.is_some() {
        errors.over(own, text::VARIANT_ARG);
    }
    let renamed = attrs.rename.or_else(|| serde::text(&variant.attrs, "rename", Way::Deserialize));
    let value = renamed.map_or_else(|| rule.apply(&own.unraw().to_string()), |name| name.value());
    let before = errors.count();
    let is_generic = !item.generics.params.is_empty();
    let mut inputs = vec![Input::Arg(Box::new(Arg {
        ident: format_ident!("__tag"),
        ty: syn::parse_quote!(__rt::Tag),
        name: tag.to_owned(),
        doc: None,
        attrs: ParamAttrs::default(),
        tag: Some(value.clone()),
    }))];
    let tuple = matches!(variant.fields, Fields::Unnamed(_));
    inputs.extend(fields(&variant.fields, is_generic, text::TUPLE_VARIANT, errors));
    let tool = Tool {
        name: format!("{}::{}", owner.unraw(), own.unraw()),
        description: Doc::of(&variant.attrs),
        sound: errors.count() == before && !tuple,
        marker: format_ident!("{}{}", owner.unraw(), own.unraw(), span = own.span()),
        vis: item.vis.clone(),
        path: quote!(#owner::#own),
        union: None,
        options: Options { state: options.state.clone(), krate: options.krate.clone(), ..Options::default() },
        inputs,
        body: Body::Struct,
    };
    (value, tool)
}

/// Where a field has the name of the tag.
pub(crate) fn like_the_tag(union: &Union) -> impl Iterator<Item = Span> {
    let fields = union.variants.iter().flat_map(|(_, variant)| variant.args().filter(|arg| arg.tag.is_none()));
    let like = fields.filter(|arg| arg.name == union.tag.0);
    like.map(|arg| arg.attrs.rename.as_ref().map_or_else(|| arg.ident.span(), LitStr::span))
}

//! From an enum to a [`Tool`] whose input is one of several.

use proc_macro2::Span;
use quote::{ToTokens as _, format_ident, quote};
use syn::{Attribute, Fields, ItemEnum, LitStr, Variant, ext::IdentExt};

use super::{
    doc::Doc,
    options::Options,
    params::ParamAttrs,
    rename::Rule,
    signature::{description, fields, name},
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
    let tag = options.tag.clone().or_else(|| serde(&item.attrs, "tag"));
    let tag = tag.map_or_else(|| (TAG.to_owned(), item.ident.span()), |tag| (tag.value(), tag.span()));
    let rule = serde(&item.attrs, "rename_all").and_then(|rule| Rule::of(&rule.value())).unwrap_or(Rule::Snake);
    let variants = item.variants.iter().map(|variant| one(item, &options, variant, &tag.0, rule, errors)).collect();
    Tool {
        name: name(&options, &item.ident),
        description: description(&options, &item.attrs),
        sound: errors.count() == before,
        marker: item.ident.clone(),
        vis: item.vis.clone(),
        path: item.ident.to_token_stream(),
        union: Some(Union { tag, variants }),
        options,
        inputs: Vec::new(),
        body: Body::Struct,
    }
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
    let renamed = attrs.rename.or_else(|| serde(&variant.attrs, "rename"));
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

/// What serde is told by `#[serde(key = "…")]`.
fn serde(attrs: &[Attribute], key: &str) -> Option<LitStr> {
    let mut found = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        // What cannot be read is serde's to report.
        let _ = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident(key)
                && let Ok(text) = meta.value().and_then(syn::parse::ParseBuffer::parse::<LitStr>)
            {
                found = Some(text);
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                // `rename(deserialize = "…")`: what is read counts.
                meta.parse_nested_meta(|inner| {
                    let text = inner.value()?.parse::<LitStr>()?;
                    if meta.path.is_ident(key) && inner.path.is_ident("deserialize") {
                        found = Some(text);
                    }
                    Ok(())
                })?;
            }
            Ok(())
        });
    }
    found
}

/// Where a field has the name of the tag.
pub(crate) fn like_the_tag(union: &Union) -> impl Iterator<Item = Span> {
    let fields = union.variants.iter().flat_map(|(_, variant)| variant.args().filter(|arg| arg.tag.is_none()));
    let like = fields.filter(|arg| arg.name == union.tag.0);
    like.map(|arg| arg.attrs.rename.as_ref().map_or_else(|| arg.ident.span(), LitStr::span))
}

//! Resolves a struct or an enum into a tool, a nested input, or the item of a `Provide` or `Calls`.

use quote::{ToTokens as _, format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Generics, Index, ItemEnum, ItemStruct, Member, Type, ext::IdentExt,
};

use super::{find_unowned, head, param, param_attrs, tool};
use crate::diag::{Errors, text};
use crate::model::{Body, CallsDef, Head, Input, NestedInput, Param, Params, ProvideDef, Tag, ToolDef, Union, Variant};
use crate::syntax::{
    attribute::Doc,
    options::{Options, Spanned},
    params::{ParamAttrs, Role},
    serde::{self, Rule, Way},
};

/// The default name of the tag.
const TAG: &str = "kind";

/// Returns a struct as a tool.
pub fn structure(item: &ItemStruct, options: Options, errors: &mut Errors) -> ToolDef {
    let (fields, is_sound) = errors.watch(|errors| {
        let is_generic = refuse_generics(&item.generics, text::GENERIC_TOOL, errors);
        let mut fields = fields(&item.fields, is_generic, text::TUPLE_STRUCT, errors);
        rename_all(&item.attrs, &mut fields);
        fields
    });
    let head = head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let input = Input::Params(Params { path: item.ident.to_token_stream(), tag: None, fields });
    let body = body(&options);
    tool(head, options, input, body)
}

/// Returns an enum as a tool.
pub fn enumeration(item: &ItemEnum, options: Options, errors: &mut Errors) -> ToolDef {
    let (union, is_sound) = errors.watch(|errors| {
        refuse_generics(&item.generics, text::GENERIC_TOOL, errors);
        if item.variants.is_empty() {
            errors.over(&item.ident, text::NO_VARIANTS);
        }
        union(item, &options, errors)
    });
    let head = head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let body = body(&options);
    tool(head, options, Input::Enum(union), body)
}

/// Returns a struct as a nested input; `None` if it cannot be one.
pub fn nested_input(item: &DeriveInput, errors: &mut Errors) -> Option<NestedInput> {
    let options = Options::of_input(&item.attrs, errors);
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::INPUT);
        return None;
    };
    if refuse_generics(&item.generics, text::INPUT_GENERIC, errors) {
        return None;
    }
    let (mut fields, is_sound) = errors.watch(|errors| fields(&data.fields, false, text::INPUT, errors));
    rename_all(&item.attrs, &mut fields);
    let head = head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let params = Params { path: item.ident.to_token_stream(), tag: None, fields };
    let Options { state, allow, .. } = options;
    Some(NestedInput { head, params, state: state.map(|state| state.value), allow })
}

/// Refuses generic parameters of the type itself. Returns whether it has any.
fn refuse_generics(generics: &Generics, wrong: &str, errors: &mut Errors) -> bool {
    let is_generic = !generics.params.is_empty();
    if is_generic {
        errors.over(&generics.params, wrong);
    }
    is_generic
}

/// Decides whether a struct or a client does the work.
fn body(options: &Options) -> Body {
    let state = options.state.as_ref().map(|state| state.value.clone());
    match (options.external, &options.output) {
        (Some(_), Some(output)) => Body::External { state, output: Box::new(output.value.clone()) },
        _ => Body::Struct { state },
    }
}

fn union(item: &ItemEnum, options: &Options, errors: &mut Errors) -> Union {
    let tag = options.tag.clone().or_else(|| serde::text(&item.attrs, "tag", Way::Deserialize));
    let tag = match tag {
        Some(tag) => Spanned { value: tag.value(), span: tag.span() },
        None => Spanned { value: TAG.to_owned(), span: item.ident.span() },
    };
    let rule = serde::text(&item.attrs, "rename_all", Way::Deserialize)
        .and_then(|rule| Rule::of(&rule.value()))
        .unwrap_or(Rule::Snake);
    let mut variants = Vec::with_capacity(item.variants.len());
    for given in &item.variants {
        let tag = Tag { name: tag.value.clone(), value: tag_value(given, rule, errors) };
        variants.push(variant(item, given, tag, options, errors));
    }
    Union { tag, variants }
}

/// Returns the value of the tag for a variant.
fn tag_value(given: &syn::Variant, rule: Rule, errors: &mut Errors) -> String {
    let attrs = param_attrs(&given.attrs, errors);
    if attrs.says_something() || attrs.arg.secret.is_some() || attrs.dynamic.is_some() {
        errors.over(&given.ident, text::VARIANT_ARG);
    }
    let renamed = attrs.arg.rename.or_else(|| serde::text(&given.attrs, "rename", Way::Deserialize));
    renamed.map_or_else(|| rule.apply(&given.ident.unraw().to_string()), |name| name.value())
}

fn variant(item: &ItemEnum, given: &syn::Variant, tag: Tag, options: &Options, errors: &mut Errors) -> Variant {
    let (own, owner) = (&given.ident, &item.ident);
    let is_generic = !item.generics.params.is_empty();
    let (fields, is_sound) = errors.watch(|errors| fields(&given.fields, is_generic, text::TUPLE_VARIANT, errors));
    let head = Head {
        ident: format_ident!("{}{}", owner.unraw(), own.unraw(), span = own.span()),
        vis: item.vis.clone(),
        name: format!("{}::{}", owner.unraw(), own.unraw()),
        description: Doc::of(&given.attrs),
        krate: options.krate.clone(),
        is_sound,
    };
    let params = Params { path: quote!(#owner::#own), tag: Some(tag), fields };
    Variant { head, params, state: options.state.as_ref().map(|state| state.value.clone()) }
}

/// Returns the fields of a struct or a variant as parameters; `tuple` is the error for fields without names.
fn fields(given: &Fields, is_generic: bool, tuple: &str, errors: &mut Errors) -> Vec<Param> {
    let named = match given {
        Fields::Named(fields) => &fields.named,
        Fields::Unit => return Vec::new(),
        Fields::Unnamed(fields) => {
            errors.over(fields, tuple);
            return Vec::new();
        }
    };
    let mut fields = Vec::new();
    for field in named {
        let Some(ident) = &field.ident else { continue };
        let mut attrs = param_attrs(&field.attrs, errors);
        if let Some(role) = attrs.role.as_ref().filter(|role| role.value != Role::Arg) {
            errors.at(role.span, text::FIELD_ROLE);
            continue;
        }
        if let Some((place, wrong)) = find_unowned(&field.ty).filter(|_| !is_generic) {
            errors.over(place, wrong);
        }
        read_derives(field, &mut attrs, errors);
        fields.push(param(ident, &field.ty, &field.attrs, attrs));
    }
    fields
}

/// Gives fields the names from `#[serde(rename_all = "…")]` on their struct, except fields with a name of their own.
fn rename_all(attrs: &[Attribute], fields: &mut [Param]) {
    let rule = serde::text(attrs, "rename_all", Way::Deserialize).and_then(|rule| Rule::of(&rule.value()));
    let Some(rule) = rule else { return };
    for field in fields.iter_mut().filter(|field| field.attrs.arg.rename.is_none()) {
        field.name = rule.apply_to_field(&field.name);
    }
}

/// Reads the attributes of serde and schemars on a field, whose derives may serve other purposes.
///
/// A tool reads its fields itself. It uses the names in these attributes, and refuses attributes that it does not follow, unless
/// one of our attributes covers them.
fn read_derives(field: &Field, attrs: &mut ParamAttrs, errors: &mut Errors) {
    if attrs.arg.rename.is_none() {
        attrs.arg.rename = serde::text(&field.attrs, "rename", Way::Deserialize);
    }
    if attrs.says_something() || attrs.arg.secret.is_some() || attrs.dynamic.is_some() {
        return;
    }
    for (word, span) in serde::words(&field.attrs, "serde") {
        match &*word {
            "default" => errors.at(span, text::SERDE_DEFAULT),
            "with" | "deserialize_with" | "flatten" | "skip" | "skip_deserializing" | "alias" => {
                errors.at(span, text::serde_on_field(&word));
            }
            _ => {}
        }
    }
    for (word, span) in serde::words(&field.attrs, "schemars") {
        match &*word {
            "range" | "length" | "regex" | "pattern" | "email" | "url" | "contains" | "inner" => {
                errors.at(span, text::SCHEMARS_LIMIT);
            }
            "with" | "schema_with" | "extend" | "transform" | "required" => {
                errors.at(span, text::schemars_on_field(&word));
            }
            _ => {}
        }
    }
}

/// Returns a struct that provides its fields; `None` if the item cannot be one.
pub fn provide(item: DeriveInput, errors: &mut Errors) -> Option<ProvideDef> {
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::PROVIDE);
        return None;
    };
    let mut seen: Vec<String> = Vec::new();
    let mut fields = Vec::new();
    for (index, field) in data.fields.iter().enumerate() {
        let ty = &field.ty;
        let text = quote!(#ty).to_string();
        if seen.contains(&text) {
            errors.over(ty, text::PROVIDED);
            continue;
        }
        seen.push(text);
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named);
        fields.push((member, ty.clone()));
    }
    Some(ProvideDef { ident: item.ident, generics: item.generics, fields })
}

/// Returns an enum of calls; `None` if the item cannot be one.
pub fn calls(item: DeriveInput, errors: &mut Errors) -> Option<CallsDef> {
    let variants = match &item.data {
        Data::Enum(data) if !data.variants.is_empty() => &data.variants,
        _ => {
            errors.over(&item.ident, text::CALLS);
            return None;
        }
    };
    if !item.generics.params.is_empty() {
        errors.over(&item.generics.params, text::CALLS_GENERIC);
        return None;
    }
    let variants = variants.iter().map(|variant| (variant.ident.clone(), variant_type(variant, errors))).collect();
    Some(CallsDef { ident: item.ident, variants })
}

/// Returns the type that a variant holds.
fn variant_type(variant: &syn::Variant, errors: &mut Errors) -> Option<Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => {
            errors.over(variant, text::CALLS);
            None
        }
    }
}

//! Resolves a struct or an enum into a tool or a nested input, or into the definition for `derive(Provide)` or `derive(Calls)`.

use quote::{ToTokens as _, format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Generics, Index, ItemEnum, ItemStruct, Member, Type, ext::IdentExt,
};

use super::{build_head, build_param, build_tool, find_invalid_type, read_param_attrs};
use crate::declaration::{
    Body, CallsDef, DeclarationHead, EnumInput, Input, NestedInput, Param, Params, ProvideDef, Tag, ToolDef, Variant,
};
use crate::diag::{Errors, text};
use crate::syntax::{
    attribute::Description,
    grammar::Spanned,
    options::Options,
    params::{ParamAttrs, Role},
    serde_attrs::{self, Direction, RenameRule},
};

/// The name of the tag, if neither `tag` nor serde's `tag` sets one.
const DEFAULT_TAG: &str = "kind";

/// Resolves a struct into a tool.
pub fn resolve_struct(item: &ItemStruct, options: Options, errors: &mut Errors) -> ToolDef {
    let (fields, is_sound) = errors.watch(|errors| {
        let is_generic = refuse_generics(&item.generics, text::GENERIC_TOOL, errors);
        let mut fields = build_params(&item.fields, is_generic, text::TUPLE_STRUCT, errors);
        rename_all(&item.attrs, &mut fields);
        fields
    });
    let head = build_head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let input = Input::Params(Params { path: item.ident.to_token_stream(), tag: None, fields });
    let body = build_body(&options);
    build_tool(head, options, input, body)
}

/// Resolves an enum into a tool.
pub fn resolve_enum(item: &ItemEnum, options: Options, errors: &mut Errors) -> ToolDef {
    let (enum_input, is_sound) = errors.watch(|errors| {
        refuse_generics(&item.generics, text::GENERIC_TOOL, errors);
        if item.variants.is_empty() {
            errors.over(&item.ident, text::NO_VARIANTS);
        }
        build_enum_input(item, &options, errors)
    });
    let head = build_head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let body = build_body(&options);
    build_tool(head, options, Input::Enum(enum_input), body)
}

/// Resolves a struct into a nested input. Returns `None`, and adds an error, if the item is no struct or is generic.
pub fn resolve_nested_input(item: &DeriveInput, errors: &mut Errors) -> Option<NestedInput> {
    let options = Options::of_input(&item.attrs, errors);
    let Data::Struct(data) = &item.data else {
        errors.over(&item.ident, text::INPUT);
        return None;
    };
    if refuse_generics(&item.generics, text::INPUT_GENERIC, errors) {
        return None;
    }
    let (mut fields, is_sound) = errors.watch(|errors| build_params(&data.fields, false, text::INPUT, errors));
    rename_all(&item.attrs, &mut fields);
    let head = build_head(&item.ident, &item.vis, &item.attrs, &options, is_sound);
    let params = Params { path: item.ident.to_token_stream(), tag: None, fields };
    let Options { state, allow, .. } = options;
    Some(NestedInput { head, params, state: state.map(|state| state.value), allow })
}

/// Reports generic parameters of the type. Returns whether it has any.
fn refuse_generics(generics: &Generics, wrong: &str, errors: &mut Errors) -> bool {
    let is_generic = !generics.params.is_empty();
    if is_generic {
        errors.over(&generics.params, wrong);
    }
    is_generic
}

/// Selects the executor of the calls: the struct or enum itself, or a client if the tool is external and has an `output`.
fn build_body(options: &Options) -> Body {
    let state = options.state.as_ref().map(|state| state.value.clone());
    match (options.external, &options.output) {
        (Some(_), Some(output)) => Body::External { state, output: Box::new(output.value.clone()) },
        _ => Body::Struct { state },
    }
}

fn build_enum_input(item: &ItemEnum, options: &Options, errors: &mut Errors) -> EnumInput {
    let tag = options.tag.clone().or_else(|| serde_attrs::text(&item.attrs, "tag", Direction::Deserialize));
    let tag = match tag {
        Some(tag) => Spanned { value: tag.value(), span: tag.span() },
        None => Spanned { value: DEFAULT_TAG.to_owned(), span: item.ident.span() },
    };
    let rule = serde_attrs::text(&item.attrs, "rename_all", Direction::Deserialize)
        .and_then(|rule| RenameRule::from_name(&rule.value()))
        .unwrap_or(RenameRule::Snake);
    let mut variants = Vec::with_capacity(item.variants.len());
    for variant in &item.variants {
        let tag = Tag { name: tag.value.clone(), value: read_tag_value(variant, rule, errors) };
        variants.push(build_variant(item, variant, tag, options, errors));
    }
    EnumInput { tag, variants }
}

/// Reads the value of the tag for a variant.
fn read_tag_value(variant: &syn::Variant, rule: RenameRule, errors: &mut Errors) -> String {
    let attrs = read_param_attrs(&variant.attrs, errors);
    if attrs.describes_value() || attrs.arg.secret.is_some() || attrs.dynamic.is_some() {
        errors.over(&variant.ident, text::VARIANT_ARG);
    }
    let renamed = attrs.arg.rename.or_else(|| serde_attrs::text(&variant.attrs, "rename", Direction::Deserialize));
    renamed.map_or_else(|| rule.apply_to_variant(&variant.ident.unraw().to_string()), |name| name.value())
}

fn build_variant(item: &ItemEnum, variant: &syn::Variant, tag: Tag, options: &Options, errors: &mut Errors) -> Variant {
    let (variant_ident, item_ident) = (&variant.ident, &item.ident);
    let is_generic = !item.generics.params.is_empty();
    let (fields, is_sound) =
        errors.watch(|errors| build_params(&variant.fields, is_generic, text::TUPLE_VARIANT, errors));
    let head = DeclarationHead {
        ident: format_ident!("{}{}", item_ident.unraw(), variant_ident.unraw(), span = variant_ident.span()),
        vis: item.vis.clone(),
        name: format!("{}::{}", item_ident.unraw(), variant_ident.unraw()),
        description: Description::from_attrs(&variant.attrs),
        krate: options.krate.clone(),
        is_sound,
    };
    let params = Params { path: quote!(#item_ident::#variant_ident), tag: Some(tag), fields };
    Variant { head, params, state: options.state.as_ref().map(|state| state.value.clone()) }
}

/// Returns the fields of a struct or a variant as parameters. `tuple_error` is the error about fields without names.
fn build_params(fields: &Fields, is_generic: bool, tuple_error: &str, errors: &mut Errors) -> Vec<Param> {
    let named = match fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unit => return Vec::new(),
        Fields::Unnamed(fields) => {
            errors.over(fields, tuple_error);
            return Vec::new();
        }
    };
    let mut fields = Vec::new();
    for field in named {
        let Some(ident) = &field.ident else { continue };
        let mut attrs = read_param_attrs(&field.attrs, errors);
        if let Some(role) = attrs.role.as_ref().filter(|role| role.value != Role::Arg) {
            errors.at(role.span, text::FIELD_ROLE);
            continue;
        }
        if let Some((place, wrong)) = find_invalid_type(&field.ty).filter(|_| !is_generic) {
            errors.over(place, wrong);
        }
        read_foreign_attributes(field, &mut attrs, errors);
        fields.push(build_param(ident, &field.ty, &field.attrs, attrs));
    }
    fields
}

/// Applies `#[serde(rename_all = "…")]` of the struct to the fields that have no `rename`.
fn rename_all(attrs: &[Attribute], fields: &mut [Param]) {
    let rule = serde_attrs::text(attrs, "rename_all", Direction::Deserialize)
        .and_then(|rule| RenameRule::from_name(&rule.value()));
    let Some(rule) = rule else { return };
    for field in fields.iter_mut().filter(|field| field.attrs.arg.rename.is_none()) {
        field.name = rule.apply_to_field(&field.name);
    }
}

/// Reads the attributes of serde and schemars on a field.
///
/// A user may derive serde's or schemars' traits for other purposes. The macro follows `rename`. It reports attributes that
/// would change the values or the schema, unless `#[arg]` has options about the value or `secret`, or there is a `#[dynamic]`.
fn read_foreign_attributes(field: &Field, attrs: &mut ParamAttrs, errors: &mut Errors) {
    if attrs.arg.rename.is_none() {
        attrs.arg.rename = serde_attrs::text(&field.attrs, "rename", Direction::Deserialize);
    }
    if attrs.describes_value() || attrs.arg.secret.is_some() || attrs.dynamic.is_some() {
        return;
    }
    for (word, span) in serde_attrs::entry_keys(&field.attrs, "serde") {
        match &*word {
            "default" => errors.at(span, text::SERDE_DEFAULT),
            "with" | "deserialize_with" | "flatten" | "skip" | "skip_deserializing" | "alias" => {
                errors.at(span, text::serde_on_field(&word));
            }
            _ => {}
        }
    }
    for (word, span) in serde_attrs::entry_keys(&field.attrs, "schemars") {
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

/// Resolves a struct that provides its fields. Returns `None`, and adds an error, if the item is no struct.
pub fn resolve_provide(item: DeriveInput, errors: &mut Errors) -> Option<ProvideDef> {
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
            errors.over(ty, text::PROVIDED_TWICE);
            continue;
        }
        seen.push(text);
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named);
        fields.push((member, ty.clone()));
    }
    Some(ProvideDef { ident: item.ident, generics: item.generics, fields })
}

/// Resolves an enum of calls. Returns `None`, and adds an error, if the item is no enum, has no variants or is generic.
pub fn resolve_calls(item: DeriveInput, errors: &mut Errors) -> Option<CallsDef> {
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
    let variants = variants.iter().map(|variant| (variant.ident.clone(), read_variant_type(variant, errors))).collect();
    Some(CallsDef { ident: item.ident, variants })
}

/// Returns the type of the only value that a variant holds. Reports any other variant, and returns `None`.
fn read_variant_type(variant: &syn::Variant, errors: &mut Errors) -> Option<Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => {
            errors.over(variant, text::CALLS);
            None
        }
    }
}

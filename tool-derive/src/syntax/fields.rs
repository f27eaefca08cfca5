//! The fields of a struct or of a variant, as parameters.

use syn::{Attribute, Field, Fields};

use super::{
    params::{ParamAttrs, Role},
    rename::Rule,
    serde::{self, Way},
    signature::{arg, owned},
};
use crate::{
    diag::{Errors, text},
    model::Input,
};

/// The fields of a struct; `tuple` is said of fields without names.
pub(super) fn fields(fields: &Fields, is_generic: bool, tuple: &str, errors: &mut Errors) -> Vec<Input> {
    let named = match fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unit => return Vec::new(),
        Fields::Unnamed(fields) => {
            errors.over(fields, tuple);
            return Vec::new();
        }
    };
    let mut inputs = Vec::new();
    for field in named {
        let Some(ident) = &field.ident else { continue };
        let mut attrs = ParamAttrs::parse(&field.attrs, errors);
        if let Some(role) = attrs.role.as_ref().filter(|role| role.value != Role::Arg) {
            errors.at(role.span, text::FIELD_ROLE);
            continue;
        }
        if !is_generic {
            owned(&field.ty, errors);
        }
        of_derives(field, &mut attrs, errors);
        inputs.push(arg(ident, &field.ty, &field.attrs, attrs));
    }
    inputs
}

/// Gives fields the names that `#[serde(rename_all = "…")]` on their struct says, except those that say their own.
pub(super) fn rename_all(attrs: &[Attribute], inputs: &mut [Input]) {
    let rule = serde::text(attrs, "rename_all", Way::Deserialize).and_then(|rule| Rule::of(&rule.value()));
    let Some(rule) = rule else { return };
    for input in inputs {
        if let Input::Arg(arg) = input
            && arg.attrs.rename.is_none()
        {
            arg.name = rule.apply_to_field(&arg.name);
        }
    }
}

/// What a field says to serde and schemars, whose derives may be there for other reasons. A tool reads its fields itself: it
/// takes over their names, and what else it does not heed is refused, unless it is told the same.
fn of_derives(field: &Field, attrs: &mut ParamAttrs, errors: &mut Errors) {
    if attrs.rename.is_none() {
        attrs.rename = serde::text(&field.attrs, "rename", Way::Deserialize);
    }
    if attrs.says_something() || attrs.secret.is_some() || attrs.dynamic.is_some() {
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

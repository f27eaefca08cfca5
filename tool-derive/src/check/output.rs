//! `#[derive(ToolOutput)]`: an output whose fields could be taken for what is said about it.

use syn::{Data, DeriveInput, Field, Fields, LitStr, ext::IdentExt as _, spanned::Spanned as _};

use crate::{
    diag::{Errors, text},
    syntax::{
        rename::Rule,
        serde::{self, Way},
    },
};

/// The keys of an answer.
const RESERVED: [&str; 6] = ["ok", "value", "feedback", "instructions", "problems", "validationResults"];

/// Refuses each field that is written under a key of the answer. Only the fields of a struct are.
pub(crate) fn collisions(item: &DeriveInput, errors: &mut Errors) {
    let Data::Struct(data) = &item.data else { return };
    let Fields::Named(fields) = &data.fields else { return };
    if serde::says(&item.attrs, &["transparent"]) {
        return;
    }
    let rule = serde::text(&item.attrs, "rename_all", Way::Serialize).and_then(|rule| Rule::of(&rule.value()));
    for field in &fields.named {
        if serde::says(&field.attrs, &["skip", "skip_serializing", "flatten"]) {
            continue;
        }
        let name = written(field, rule);
        if RESERVED.contains(&&*name) {
            errors.at(field.ident.as_ref().map_or_else(|| field.span(), syn::Ident::span), text::collision(&name));
        }
    }
}

/// The field's key.
fn written(field: &Field, rule: Option<Rule>) -> String {
    if let Some(name) = serde::text(&field.attrs, "rename", Way::Serialize) {
        return LitStr::value(&name);
    }
    let name = field.ident.as_ref().map(|ident| ident.unraw().to_string()).unwrap_or_default();
    rule.map_or_else(|| name.clone(), |rule| rule.apply_to_field(&name))
}

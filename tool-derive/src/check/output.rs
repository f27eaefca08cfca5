//! `#[derive(ToolOutput)]`: an output whose fields could be taken for what is said about it.

use syn::{Attribute, Data, DeriveInput, Field, Fields, LitStr, ext::IdentExt as _, spanned::Spanned as _};

use crate::diag::{Errors, text};

/// The keys of an answer.
const RESERVED: [&str; 6] = ["ok", "value", "feedback", "instructions", "problems", "validationResults"];

/// Refuses each field that is written under a key of the answer. Only the fields of a struct are.
pub(crate) fn collisions(item: &DeriveInput, errors: &mut Errors) {
    let Data::Struct(data) = &item.data else { return };
    let Fields::Named(fields) = &data.fields else { return };
    if said(&item.attrs, &["transparent"]).is_some() {
        return;
    }
    let style = said(&item.attrs, &["rename_all"]).unwrap_or_default();
    for field in &fields.named {
        if said(&field.attrs, &["skip", "skip_serializing", "flatten"]).is_some() {
            continue;
        }
        let name = said(&field.attrs, &["rename"]).unwrap_or_else(|| written(field, &style));
        if RESERVED.contains(&&*name) {
            errors.at(field.ident.as_ref().map_or_else(|| field.span(), syn::Ident::span), text::collision(&name));
        }
    }
}

/// The field's key. Of serde's styles only these can give a key of the answer.
fn written(field: &Field, style: &str) -> String {
    let name = field.ident.as_ref().map(|ident| ident.unraw().to_string()).unwrap_or_default();
    match style {
        "camelCase" => {
            let mut words = name.split('_');
            let first = words.next().unwrap_or_default().to_owned();
            words.fold(first, |name, word| {
                let mut letters = word.chars();
                let initial = letters.next().map(|initial| initial.to_ascii_uppercase());
                name + &initial.into_iter().chain(letters).collect::<String>()
            })
        }
        "UPPERCASE" | "PascalCase" | "SCREAMING_SNAKE_CASE" | "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase(),
        _ => name,
    }
}

/// What serde's attributes say for the first of `keys` that they have; the empty text for a flag.
fn said(attrs: &[Attribute], keys: &[&str]) -> Option<String> {
    let mut found = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        // What serde does not understand, serde reports.
        let _ = attr.parse_nested_meta(|meta| {
            let is_meant = keys.iter().any(|key| meta.path.is_ident(key));
            let mut text = String::new();
            if meta.input.peek(syn::Token![=]) {
                text = meta.value()?.parse::<LitStr>().map(|text| text.value())?;
            } else if meta.input.peek(syn::token::Paren) {
                meta.parse_nested_meta(|side| {
                    let value: LitStr = side.value()?.parse()?;
                    if side.path.is_ident("serialize") {
                        text = value.value();
                    }
                    Ok(())
                })?;
            }
            if is_meant {
                found = Some(text);
            }
            Ok(())
        });
    }
    found
}

//! The options of a declaration, as a constant.

use proc_macro2::TokenStream;
use quote::quote;

use super::fields::lit_json;
use crate::{
    model::Tool,
    syntax::{
        options::Options,
        values::{Approval, Effect},
    },
};

/// `.options(&Options { effect: …, ..Options::NEW })`, if anything is said.
pub(crate) fn expand(tool: &Tool) -> Option<TokenStream> {
    let options: &Options = &tool.options;
    let mut set = Vec::new();
    let mut flag = |on: bool, name: TokenStream| {
        if on {
            set.push(quote!(#name: true));
        }
    };
    flag(options.idempotent.is_some(), quote!(idempotent));
    flag(options.open_world.is_some(), quote!(open_world));
    flag(options.external.is_some(), quote!(external));
    flag(options.resumable.is_some(), quote!(resumable));
    flag(options.sequential.is_some(), quote!(sequential));
    flag(options.eager.is_some(), quote!(eager));
    flag(options.blocking.is_some(), quote!(blocking));
    flag(options.strict.is_some(), quote!(strict));
    flag(options.untrusted.is_some(), quote!(untrusted));
    let mut text = |value: &Option<syn::LitStr>, name: TokenStream| {
        if let Some(value) = value {
            set.push(quote!(#name: ::core::option::Option::Some(#value)));
        }
    };
    text(&options.title, quote!(title));
    text(&options.challenge, quote!(challenge));
    text(&options.version, quote!(version));
    if let Some(effect) = &options.effect {
        let effect = match effect.value {
            Effect::ReadOnly => quote!(ReadOnly),
            Effect::Write => quote!(Write),
            Effect::Destructive => quote!(Destructive),
        };
        set.push(quote!(effect: __rt::Effect::#effect));
    }
    if let Some(approval) = &options.approval {
        let approval = match approval.value {
            Approval::Never => quote!(Never),
            Approval::Always => quote!(Always),
            Approval::When(_) => quote!(When),
        };
        set.push(quote!(approval: __rt::Approval::#approval));
    }
    if let Some(millis) = options.timeout {
        set.push(quote!(timeout: ::core::option::Option::Some(::core::time::Duration::from_millis(#millis))));
    }
    if let Some(retries) = &options.retries {
        let retries = retries.value;
        set.push(quote!(retries: #retries));
    }
    let mut texts = |values: &[syn::LitStr], name: TokenStream| {
        if !values.is_empty() {
            set.push(quote!(#name: &[#(#values),*]));
        }
    };
    texts(&options.migrate_from, quote!(migrate_from));
    texts(&options.examples, quote!(examples));
    if let Some(ui) = &options.ui {
        let parts = ui.iter().map(|part| match part {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        });
        set.push(quote!(ui: ::core::option::Option::Some([#(#parts),*])));
    }
    if !options.meta.is_empty() {
        let entries = options.meta.iter().filter_map(|(key, lit)| {
            let json = lit_json(lit)?;
            Some(quote!((#key, #json)))
        });
        set.push(quote!(meta: &[#(#entries),*]));
    }
    (!set.is_empty()).then(|| quote!(.options(&__rt::Options { #(#set,)* ..__rt::Options::NEW })))
}

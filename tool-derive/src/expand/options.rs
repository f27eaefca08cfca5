//! The options of a declaration, and its hooks, as constants.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Lit, LitStr};

use super::{fields::lit_json, tokens::hidden_ident};
use crate::declaration::ToolDef;
use crate::syntax::{
    options::{Approval, Effect, Ui},
    params::{FunctionPath, last_word_span},
};

/// Returns `.options(&Options { effect: …, ..Options::NEW })`, or `None` if the declaration sets none of these options.
pub fn options_setter(tool: &ToolDef) -> Option<TokenStream> {
    let options = &tool.options;
    let flag = |given: Option<Span>| given.map(|_| quote!(true));
    let set = setters([
        ("idempotent", flag(options.idempotent)),
        ("open_world", flag(options.open_world)),
        ("external", flag(options.external)),
        ("resumable", flag(options.resumable)),
        ("sequential", flag(options.sequential)),
        ("eager", flag(options.eager)),
        ("blocking", flag(options.blocking)),
        ("strict", flag(options.strict)),
        ("lenient", flag(options.lenient)),
        ("untrusted", flag(options.untrusted)),
        ("title", options.title.as_ref().map(some)),
        ("challenge", options.challenge.as_ref().map(some)),
        ("version", options.version.as_ref().map(some)),
        ("effect", options.effect.as_ref().map(|effect| effect_const(effect.value))),
        ("approval", options.approval.as_ref().map(|approval| approval_const(&approval.value))),
        ("timeout", options.timeout.map(|millis| some(&quote!(::core::time::Duration::from_millis(#millis))))),
        ("retries", options.retries.as_ref().map(|retries| retries.value.into_token_stream())),
        ("migrate_from", texts(&options.migrate_from)),
        ("examples", texts(&options.examples)),
        ("ui", options.ui.as_ref().map(ui_const)),
        ("meta", meta_const(&options.meta)),
    ]);
    (!set.is_empty()).then(|| quote!(.options(&__rt::Options { #(#set,)* ..__rt::Options::NEW })))
}

/// Returns `name: value` for each value that is present.
fn setters<const N: usize>(all: [(&str, Option<TokenStream>); N]) -> Vec<TokenStream> {
    let setter = |(name, value)| {
        let (name, value) = (Ident::new(name, Span::call_site()), value?);
        Some(quote!(#name: #value))
    };
    all.into_iter().filter_map(setter).collect()
}

fn some(value: &impl ToTokens) -> TokenStream {
    quote!(::core::option::Option::Some(#value))
}

fn effect_const(effect: Effect) -> TokenStream {
    match effect {
        Effect::ReadOnly => quote!(__rt::Effect::ReadOnly),
        Effect::Write => quote!(__rt::Effect::Write),
        Effect::Destructive => quote!(__rt::Effect::Destructive),
    }
}

fn approval_const(approval: &Approval) -> TokenStream {
    match approval {
        Approval::Never => quote!(__rt::Approval::Never),
        Approval::Always => quote!(__rt::Approval::Always),
        Approval::When(_) => quote!(__rt::Approval::When),
    }
}

fn texts(texts: &[LitStr]) -> Option<TokenStream> {
    (!texts.is_empty()).then(|| quote!(&[#(#texts),*]))
}

fn ui_const(Ui { icon, running, done, tooltip }: &Ui) -> TokenStream {
    let all = [("icon", icon), ("running", running), ("done", done), ("tooltip", tooltip)];
    let set = setters(all.map(|(name, text)| (name, text.as_ref().map(some))));
    some(&quote!(__rt::UiTexts { #(#set,)* ..__rt::UiTexts::NEW }))
}

fn meta_const(meta: &[(String, Lit)]) -> Option<TokenStream> {
    let entries = meta.iter().filter_map(|(key, lit)| {
        let json = lit_json(lit)?;
        Some(quote!((#key, #json)))
    });
    (!meta.is_empty()).then(|| quote!(&[#(#entries),*]))
}

/// Returns the static that holds the hooks, and `.hooks(…)`; `None` if there are none.
pub fn hooks(tool: &ToolDef) -> Option<(TokenStream, TokenStream)> {
    let (tool_type, options) = (&tool.head.ident, &tool.options);
    let all = [
        ("start", &options.on_input_start, &["_cx"][..]),
        ("delta", &options.on_input_delta, &["_input", "_delta", "_cx"]),
        ("available", &options.on_input_available, &["_input", "_cx"]),
    ];
    if all.iter().all(|(_, path, _)| path.is_none()) {
        return None;
    }
    let each = all.map(|(name, path, args)| {
        let name = quote::format_ident!("{name}");
        let hook = match path {
            Some(path) => hook(path, args),
            None => quote!(::core::option::Option::None),
        };
        quote!(#name: #hook)
    });
    let hooks = quote! {
        static __HOOKS: __rt::Hooks<#tool_type> = {
            #[allow(unused_imports)]
            use __rt::HookFallback as _;
            __rt::Hooks { #(#each),* }
        };
    };
    Some((hooks, quote!(.hooks(&__HOOKS))))
}

/// Returns the hook that calls the function `path`. The compiler reports a wrong signature at the function's name.
fn hook(path: &FunctionPath, args: &[&str]) -> TokenStream {
    let args: Vec<_> = args.iter().map(|arg| hidden_ident(arg)).collect();
    let span = last_word_span(&path.path);
    let call = quote_spanned!(span=> #path(#(#args),*));
    quote_spanned!(span=> ::core::option::Option::Some(|#(#args),*| __rt::Hook::of(#call).done()))
}

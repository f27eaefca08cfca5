//! The hooks around a tool's input, as a constant.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::hidden;
use crate::{
    model::ToolDef,
    syntax::dynamic::{Validator, last},
};

/// Returns the static that holds them, and `.hooks(…)`; nothing where there are none.
pub fn hooks(tool: &ToolDef) -> Option<(TokenStream, TokenStream)> {
    let (marker, options) = (&tool.head.ident, &tool.options);
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
        static __HOOKS: __rt::Hooks<#marker> = {
            #[allow(unused_imports)]
            use __rt::HookFallback as _;
            __rt::Hooks { #(#each),* }
        };
    };
    Some((hooks, quote!(.hooks(&__HOOKS))))
}

/// Returns the hook that calls a function. What is wrong with the function is an error at its name.
fn hook(path: &Validator, args: &[&str]) -> TokenStream {
    let args: Vec<_> = args.iter().map(|arg| hidden(arg)).collect();
    let span = last(&path.path);
    let call = quote_spanned!(span=> #path(#(#args),*));
    quote_spanned!(span=> ::core::option::Option::Some(|#(#args),*| __rt::Hook::of(#call).done()))
}

//! The options of a declaration, and its hooks, as constants.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Lit, LitStr};

use super::{fields::lit_json, hidden};
use crate::model::ToolDef;
use crate::syntax::{
    options::{Approval, Effect, Spanned, Ui},
    params::{Validator, last},
};

/// The given options among those that are listed, each with its name in the runtime and its constant.
macro_rules! constants {
    ($options:expr; $($field:ident)*) => {
        [$((quote!($field), Constant::constant(&$options.$field))),*]
            .into_iter()
            .filter_map(|(name, constant)| constant.map(|constant| quote!(#name: #constant)))
            .collect::<Vec<_>>()
    };
}

/// Returns `.options(&Options { effect: …, ..Options::NEW })`, if anything is given.
pub fn options_setter(tool: &ToolDef) -> Option<TokenStream> {
    let set = constants! { tool.options;
        idempotent open_world external resumable sequential eager blocking strict untrusted title challenge version effect
        approval timeout retries migrate_from examples ui meta
    };
    (!set.is_empty()).then(|| quote!(.options(&__rt::Options { #(#set,)* ..__rt::Options::NEW })))
}

/// An option that the runtime keeps as a constant.
trait Constant {
    /// Returns the constant; `None` if the option is not given.
    fn constant(&self) -> Option<TokenStream>;
}

/// The value of an option that is not optional in the runtime.
trait Value {
    fn value(&self) -> TokenStream;
}

impl<T: Value> Constant for Option<T> {
    fn constant(&self) -> Option<TokenStream> {
        self.as_ref().map(Value::value)
    }
}

impl Value for proc_macro2::Span {
    fn value(&self) -> TokenStream {
        quote!(true)
    }
}

impl Value for LitStr {
    fn value(&self) -> TokenStream {
        quote!(::core::option::Option::Some(#self))
    }
}

/// Milliseconds.
impl Value for u64 {
    fn value(&self) -> TokenStream {
        quote!(::core::option::Option::Some(::core::time::Duration::from_millis(#self)))
    }
}

impl Value for Spanned<u32> {
    fn value(&self) -> TokenStream {
        let count = self.value;
        quote!(#count)
    }
}

impl Value for Spanned<Effect> {
    fn value(&self) -> TokenStream {
        match self.value {
            Effect::ReadOnly => quote!(__rt::Effect::ReadOnly),
            Effect::Write => quote!(__rt::Effect::Write),
            Effect::Destructive => quote!(__rt::Effect::Destructive),
        }
    }
}

impl Value for Spanned<Approval> {
    fn value(&self) -> TokenStream {
        match self.value {
            Approval::Never => quote!(__rt::Approval::Never),
            Approval::Always => quote!(__rt::Approval::Always),
            Approval::When(_) => quote!(__rt::Approval::When),
        }
    }
}

impl Value for Ui {
    fn value(&self) -> TokenStream {
        let set = constants! { self; icon running done tooltip };
        quote!(::core::option::Option::Some(__rt::UiTexts { #(#set,)* ..__rt::UiTexts::NEW }))
    }
}

impl Constant for Vec<LitStr> {
    fn constant(&self) -> Option<TokenStream> {
        let texts = self;
        (!texts.is_empty()).then(|| quote!(&[#(#texts),*]))
    }
}

impl Constant for Vec<(String, Lit)> {
    fn constant(&self) -> Option<TokenStream> {
        let entries = self.iter().filter_map(|(key, lit)| {
            let json = lit_json(lit)?;
            Some(quote!((#key, #json)))
        });
        (!self.is_empty()).then(|| quote!(&[#(#entries),*]))
    }
}

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

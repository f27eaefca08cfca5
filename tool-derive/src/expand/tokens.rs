//! Tokens that several expansions need.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Path, Type, spanned::Spanned as _};

use crate::declaration::EnumInput;

/// Returns the path of the runtime's private module, below `krate`.
pub fn runtime_path(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(krate) => quote!(#krate::__private),
        None => quote!(::tool_runtime::__private),
    }
}

/// Returns an identifier that users can neither see nor shadow. It begins with an underscore, because a pattern would refer to
/// a user's constant of the same name instead of binding a variable.
pub fn hidden_ident(name: &str) -> Ident {
    let prefix = if name.starts_with('_') { "" } else { "_" };
    Ident::new(&format!("{prefix}{name}"), Span::mixed_site())
}

/// Returns `<ty as DynamicInput>`. If `ty` does not implement the trait, each use causes the same error at the type, and the
/// compiler shows one.
pub fn as_input(ty: &Type) -> TokenStream {
    quote_spanned!(ty.span()=> <#ty as __rt::DynamicInput>)
}

/// Returns bounds that require `DynamicInput` of nested parameters, so that the code inside causes no further errors. The
/// unused lifetime `'__n` delays the compiler's check.
pub fn nested_bounds<'d>(nested: impl Iterator<Item = &'d Type>) -> Vec<TokenStream> {
    let bounds = nested.map(|ty| quote_spanned!(ty.span()=> #ty: __rt::DynamicInput));
    bounds.map(|bound| quote!(for<'__n> #bound)).collect()
}

/// Returns the expression `kind::<ty>`, whose errors point at the type.
pub fn witness(ty: &Type, kind: &str) -> TokenStream {
    let span = ty.span();
    let kind = Ident::new(kind, span);
    quote_spanned!(span=> __rt::#kind::<#ty>)
}

/// Returns the names of the variants' hidden structs.
pub fn variant_idents(enum_input: &EnumInput) -> impl Iterator<Item = Ident> {
    (0..enum_input.variants.len()).map(|index| format_ident!("__V{index}"))
}

//! A function whose body nobody needs to read.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Signature, Token, Visibility,
    parse::{Parse, ParseStream},
};

/// A function: everything but its body is parsed, so that a mistake in the body is the compiler's to report.
#[derive(Clone)]
pub(crate) struct ToolFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: TokenStream,
}

impl Parse for ToolFn {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToolFn {
    /// Whether there is a body at all.
    pub(crate) fn has_body(&self) -> bool {
        syn::parse2::<Token![;]>(self.body.clone()).is_err()
    }
}

impl ToTokens for ToolFn {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

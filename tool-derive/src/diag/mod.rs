//! Errors for the user: collected, so that one compilation shows them all.

pub(crate) mod suggest;
pub(crate) mod text;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors found so far. Every stage adds to it; nothing stops at the first.
#[derive(Default)]
pub(crate) struct Errors {
    found: Option<syn::Error>,
    count: usize,
}

impl Errors {
    /// An error at one place.
    pub(crate) fn at(&mut self, span: Span, message: impl AsRef<str>) {
        self.push(syn::Error::new(span, message.as_ref()));
    }

    /// An error over all of `tokens`.
    pub(crate) fn over(&mut self, tokens: impl ToTokens, message: impl AsRef<str>) {
        self.push(syn::Error::new_spanned(tokens.into_token_stream(), message.as_ref()));
    }

    /// An error of syn's.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.count += 1;
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// All of them, as one error of syn's.
    pub(crate) fn into_result(self) -> syn::Result<()> {
        self.found.map_or(Ok(()), Err)
    }

    /// All of them, as `compile_error!`s.
    pub(crate) fn finish(self) -> TokenStream {
        self.found.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}

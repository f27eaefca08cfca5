//! Warnings. Stable Rust has none for macros but those of the compiler itself, so each is the use of something deprecated.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::diag::text::advice::Advice;

/// Returns a constant that names what is deprecated, at the place that each advice is about; nothing where there is none.
///
/// No model reads about the tools of tests, so a build for tests has no advice.
pub(crate) fn advice(found: &[(Span, Advice)]) -> Option<TokenStream> {
    let count = found.len();
    let kinds = Advice::ALL.iter().filter(|(_, advice)| found.iter().any(|(_, other)| other == advice));
    let declared = kinds.map(|(name, advice)| {
        let (name, text) = (Ident::new(name, Span::call_site()), advice.text());
        quote!(#[deprecated(note = #text)] const #name: () = ();)
    });
    // A span of our own would make it a warning about this macro, which is not shown.
    let used = found.iter().map(|(span, advice)| Ident::new(advice.name(), *span));
    (count > 0).then(|| {
        quote! {
            #[cfg(not(test))]
            #[allow(non_upper_case_globals)]
            const _: [(); #count] = {
                #(#declared)*
                [#(#used),*]
            };
        }
    })
}

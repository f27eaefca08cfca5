//! Warnings. Stable Rust has none for macros but those of the compiler itself, so each is the use of something deprecated.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::{check, diag::text::advice::Advice, model::Tool};

/// What could be better, as a constant that names what is deprecated, at the place that it is about; nothing where there is
/// nothing to say.
pub(crate) fn advice(tool: &Tool) -> Option<TokenStream> {
    let found = check::advice::advice(tool);
    let count = found.len();
    let said = Advice::ALL.iter().filter(|(_, advice)| found.iter().any(|(_, other)| other == advice));
    let declared = said.map(|(name, advice)| {
        let (name, text) = (Ident::new(name, Span::call_site()), advice.text());
        quote!(#[deprecated(note = #text)] const #name: () = ();)
    });
    // A span of our own would make it a warning about this macro, which is not shown.
    let used = found.iter().map(|(span, advice)| Ident::new(advice.name(), *span));
    (count > 0).then(|| {
        quote! {
            #[allow(non_upper_case_globals)]
            const _: [(); #count] = {
                #(#declared)*
                [#(#used),*]
            };
        }
    })
}

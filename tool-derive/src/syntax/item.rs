//! A function whose body nobody needs to read.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Attribute, Signature, Token, Type, Visibility,
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

    /// Gives the function a body if it has none, so that the compiler does not miss it a second time.
    pub(crate) fn give_body(&mut self) {
        if !self.has_body() {
            self.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            self.body = quote!({ ::core::unimplemented!() });
        }
    }

    /// The method as code outside the impl of `owner` sees it.
    pub(crate) fn outside(&self, owner: &Type) -> Self {
        let sig = without_self(self.sig.to_token_stream(), owner);
        Self { sig: syn::parse2(sig).unwrap_or_else(|_| self.sig.clone()), ..self.clone() }
    }

    /// Whether it can only be a method or an associated function.
    pub(crate) fn needs_impl(&self) -> bool {
        self.sig.receiver().is_some() || mentions_self(self.sig.to_token_stream())
    }
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}

/// `tokens` with `owner` in place of `Self`, for code outside its impl.
pub(crate) fn without_self(tokens: TokenStream, owner: &Type) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "Self" => {
                let span = word.span();
                match tokens.peek() {
                    Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => {
                        out.extend(quote_spanned!(span=> <#owner>));
                    }
                    _ => out.extend(owner.to_token_stream()),
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), without_self(group.stream(), owner));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            other => out.extend([other]),
        }
    }
    out
}

impl ToTokens for ToolFn {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

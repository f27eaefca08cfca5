//! A function whose body nobody needs to read.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Attribute, ReturnType, Signature, Type, Visibility,
    parse::{Parse, ParseStream},
};

use super::borrow::{borrowed, unnamed};

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
    /// Returns whether there is a body at all.
    pub(crate) fn has_body(&self) -> bool {
        let first = self.body.clone().into_iter().next();
        !matches!(first, Some(TokenTree::Punct(punct)) if punct.as_char() == ';')
    }

    /// Gives the function a body if it has none, so that the compiler does not miss it a second time.
    pub(crate) fn give_body(&mut self) {
        if !self.has_body() {
            self.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            self.body = quote!({ ::core::unimplemented!() });
        }
    }

    /// Makes a whole function of one whose output borrows from no parameter, which has been told: the compiler would miss the
    /// lifetime, and then what the body borrows.
    pub(crate) fn give_lifetime(&mut self) {
        let is_lent = self.sig.receiver().is_some() || borrowed(&self.sig.inputs, false).is_some();
        let ReturnType::Type(_, output) = &mut self.sig.output else { return };
        // What an `impl Trait` is, the body alone says.
        if is_lent || borrowed(&*output, true).is_none() || unnamed(&*output).is_some() {
            return;
        }
        self.body = quote!(;);
        **output = Type::Verbatim(with_statics(output.to_token_stream()));
    }

    /// The method as code outside the impl of `owner` sees it.
    pub(crate) fn outside(&self, owner: &Type) -> Self {
        let sig = without_self(self.sig.to_token_stream(), owner);
        Self { sig: syn::parse2(sig).unwrap_or_else(|_| self.sig.clone()), ..self.clone() }
    }

    /// Returns whether its signature, in the tokens that it was written in, names `Self`.
    pub(crate) fn mentions_self(item: &TokenStream) -> bool {
        let is_body =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        mentions_self(item.clone().into_iter().filter(|token| !is_body(token)).collect())
    }
}

/// `tokens` with `'static` where a reference has no lifetime.
fn with_statics(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let mut out = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_and = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '&');
        let is_named = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '\'');
        out.extend([match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), with_statics(group.stream())).into(),
            token => token,
        }]);
        if is_and && !is_named {
            out.extend(quote!('static));
        }
    }
    out
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

//! Parses items. The body of a function stays unparsed.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Attribute, ReturnType, Signature, Type, Visibility,
    parse::{Parse, ParseStream},
};

use super::types::{find_borrow, find_impl_trait};

/// A function. Everything but its body is parsed, so that the compiler reports mistakes in the body.
#[derive(Clone)]
pub struct ToolFn {
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub sig: Signature,
    pub body: TokenStream,
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
    /// Returns whether the function has a body.
    pub fn has_body(&self) -> bool {
        let first = self.body.clone().into_iter().next();
        !matches!(first, Some(TokenTree::Punct(punct)) if punct.as_char() == ';')
    }

    /// Returns the place of an `.await` in the body of a function that is not `async`. It ignores the arguments of macros, and a
    /// body with an `async` block.
    pub fn await_outside_async(&self) -> Option<Span> {
        let is_async = self.sig.asyncness.is_some() || find_word(self.body.clone(), "async").is_some();
        find_word(self.body.clone(), "await").filter(|_| !is_async)
    }

    /// Gives the function a body if it has none, because another check reports the missing body.
    pub fn give_body(&mut self) {
        if !self.has_body() {
            self.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            self.body = quote!({ ::core::unimplemented!() });
        }
    }

    /// Makes the output `'static` and removes the body, if the output borrows although no parameter does. Another check reports
    /// such an output. Otherwise the compiler would also report the missing lifetime, and the borrows in the body.
    pub fn replace_borrowed_output(&mut self) {
        let has_borrowed_input = self.sig.receiver().is_some() || find_borrow(&self.sig.inputs, false).is_some();
        let ReturnType::Type(_, output) = &mut self.sig.output else { return };
        // Only the body determines the type of an `impl Trait`.
        if has_borrowed_input || find_borrow(&*output, true).is_none() || find_impl_trait(&*output).is_some() {
            return;
        }
        self.body = quote!(;);
        **output = Type::Verbatim(with_static_lifetimes(output.to_token_stream()));
    }

    /// Returns the method with `owner` in place of `Self` in its signature, for code outside the impl.
    pub fn outside_impl(&self, owner: &Type) -> Self {
        let sig = replace_self_type(self.sig.to_token_stream(), owner);
        Self { sig: syn::parse2(sig).unwrap_or_else(|_| self.sig.clone()), ..self.clone() }
    }

    /// Returns whether the signature of `item`, in its tokens, names `Self`.
    pub fn mentions_self(item: &TokenStream) -> bool {
        let is_body =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        find_word(item.clone().into_iter().filter(|token| !is_body(token)).collect(), "Self").is_some()
    }
}

/// Returns the place of the first `word` in `tokens`, leaving out the arguments of macros.
fn find_word(tokens: TokenStream, word: &str) -> Option<Span> {
    let mut in_macro = false;
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => {
            in_macro = false;
            (ident == word).then(|| ident.span())
        }
        TokenTree::Group(group) if !std::mem::take(&mut in_macro) => find_word(group.stream(), word),
        TokenTree::Punct(punct) => {
            in_macro = punct.as_char() == '!';
            None
        }
        _ => None,
    })
}

/// Returns `tokens` with `'static` at each reference without a lifetime.
fn with_static_lifetimes(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let mut out = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_and = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '&');
        let is_named = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '\'');
        out.extend([match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), with_static_lifetimes(group.stream())).into(),
            token => token,
        }]);
        if is_and && !is_named {
            out.extend(quote!('static));
        }
    }
    out
}

/// Returns `tokens` with `owner` in place of `Self`, for code outside its impl.
pub fn replace_self_type(tokens: TokenStream, owner: &Type) -> TokenStream {
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
                let mut inner = Group::new(group.delimiter(), replace_self_type(group.stream(), owner));
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

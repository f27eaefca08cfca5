//! Parameters that are not in every build. A macro is not told which predicates hold, so the item is written twice, with the
//! parameters of either case, and each is a tool where its predicate holds.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{
    Attribute, Field, Fields, FnArg, ItemEnum, ItemStruct, Meta, Token, Variant, parse::ParseStream, parse::Parser,
    punctuated::Punctuated,
};

use super::item::ToolFn;

/// An item whose parts can depend on the build.
pub(crate) trait Parts: Clone {
    /// Looks at the attributes of each part that a tool has for a parameter, and leaves out those for which `keep` says `false`.
    fn retain(&mut self, keep: &mut dyn FnMut(&mut Vec<Attribute>) -> bool);

    /// The item without what depends on the first predicate that is found in it, where that holds and where it does not.
    fn split(&self) -> Option<(TokenStream, [Self; 2])> {
        let mut first = None;
        self.clone().retain(&mut |attrs| {
            first = first.take().or_else(|| attrs.iter().find_map(predicate));
            true
        });
        let first = first?;
        let with = |holds| {
            let mut item = self.clone();
            item.retain(&mut |attrs| settled(attrs, &first, holds));
            item
        };
        Some((first.clone(), [with(true), with(false)]))
    }
}

impl Parts for ToolFn {
    fn retain(&mut self, keep: &mut dyn FnMut(&mut Vec<Attribute>) -> bool) {
        let inputs = std::mem::take(&mut self.sig.inputs);
        self.sig.inputs = retained(inputs, |input| match input {
            FnArg::Receiver(receiver) => keep(&mut receiver.attrs),
            FnArg::Typed(param) => keep(&mut param.attrs),
        });
    }
}

impl Parts for ItemStruct {
    fn retain(&mut self, keep: &mut dyn FnMut(&mut Vec<Attribute>) -> bool) {
        retain_fields(&mut self.fields, keep);
    }
}

impl Parts for ItemEnum {
    fn retain(&mut self, keep: &mut dyn FnMut(&mut Vec<Attribute>) -> bool) {
        let variants = std::mem::take(&mut self.variants);
        self.variants = retained(variants, |variant: &mut Variant| {
            let is_kept = keep(&mut variant.attrs);
            retain_fields(&mut variant.fields, keep);
            is_kept
        });
    }
}

fn retain_fields(fields: &mut Fields, keep: &mut dyn FnMut(&mut Vec<Attribute>) -> bool) {
    if let Fields::Named(fields) = fields {
        let named = std::mem::take(&mut fields.named);
        fields.named = retained(named, |field: &mut Field| keep(&mut field.attrs));
    }
}

fn retained<T>(list: Punctuated<T, Token![,]>, mut keep: impl FnMut(&mut T) -> bool) -> Punctuated<T, Token![,]> {
    list.into_iter().filter_map(|mut one| keep(&mut one).then_some(one)).collect()
}

/// Returns the predicate of `#[cfg(…)]` or `#[cfg_attr(…, …)]`.
fn predicate(attr: &Attribute) -> Option<TokenStream> {
    match (&attr.meta, parsed(attr)) {
        (Meta::List(list), _) if attr.path().is_ident("cfg") => Some(list.tokens.clone()),
        (_, Some((predicate, _))) => Some(predicate),
        _ => None,
    }
}

/// The predicate of `#[cfg_attr(…, …)]`, and the attributes.
fn parsed(attr: &Attribute) -> Option<(TokenStream, Vec<Attribute>)> {
    let Meta::List(list) = &attr.meta else { return None };
    if !attr.path().is_ident("cfg_attr") {
        return None;
    }
    let parse = |input: ParseStream<'_>| Punctuated::<Meta, Token![,]>::parse_terminated(input);
    let mut metas = parse.parse2(list.tokens.clone()).ok()?.into_iter();
    let predicate = metas.next()?.into_token_stream();
    let attributes = metas.map(|meta| Attribute { meta, ..attr.clone() }).collect();
    Some((predicate, attributes))
}

/// Puts what `first` says in place of the attributes that ask it; whether the part is there at all.
fn settled(attrs: &mut Vec<Attribute>, first: &TokenStream, holds: bool) -> bool {
    let asks = |other: &TokenStream| other.to_string() == first.to_string();
    let mut is_there = true;
    let mut rest = Vec::with_capacity(attrs.len());
    for attr in attrs.drain(..) {
        if !predicate(&attr).is_some_and(|predicate| asks(&predicate)) {
            rest.push(attr);
        } else if let Some((_, attributes)) = parsed(&attr) {
            rest.extend(attributes.into_iter().filter(|_| holds));
        } else {
            is_there &= holds;
        }
    }
    *attrs = rest;
    is_there
}

/// `#[cfg(…)]` for the case that `predicate` holds, and for the case that it does not.
pub(crate) fn cases(predicate: &TokenStream) -> [TokenStream; 2] {
    [quote!(#[cfg(#predicate)]), quote!(#[cfg(not(#predicate))])]
}

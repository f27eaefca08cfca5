//! Parts of items and entries of lists under `cfg`.
//!
//! A macro cannot know which predicates of `cfg` hold. So it writes the item twice: for builds in which the predicate holds, and
//! for the others. Each copy is under the matching `#[cfg]`.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, FnArg, Ident, ItemEnum, ItemStruct, Meta, Token, Variant,
    ext::IdentExt as _,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
};

use super::{attribute::has_option_list, item::ToolFn};

/// A function that receives the attributes of a part, and returns whether the part remains.
type Keep<'k> = &'k mut dyn FnMut(&mut Vec<Attribute>) -> bool;

/// An item whose parts can depend on the build.
pub trait CfgItem: Clone {
    /// Calls `keep` with the attributes of each part: a parameter, a field, a variant, or an entry in a list of options. Removes
    /// the parts for which it returns `false`.
    fn retain(&mut self, keep: Keep<'_>);

    /// Returns the first predicate on a part, if there is one, and the item for builds in which it holds and does not hold.
    fn split_by_cfg(&self) -> Option<(TokenStream, [Self; 2])> {
        let mut first = None;
        self.clone().retain(&mut |attrs| {
            first = first.take().or_else(|| attrs.iter().find_map(cfg_predicate));
            true
        });
        let first = first?;
        let with = |holds| {
            let mut item = self.clone();
            item.retain(&mut |attrs| resolve_cfg(attrs, &first, holds));
            item
        };
        Some((first.clone(), [with(true), with(false)]))
    }
}

/// The options of an item's own attribute, and the item.
impl<I: CfgItem> CfgItem for (TokenStream, I) {
    fn retain(&mut self, keep: Keep<'_>) {
        retain_entries(&mut self.0, keep);
        self.1.retain(keep);
    }
}

/// An attribute with options, and the item that it is on.
impl<I: CfgItem> CfgItem for (Attribute, I) {
    fn retain(&mut self, keep: Keep<'_>) {
        if let Meta::List(list) = &mut self.0.meta {
            retain_entries(&mut list.tokens, keep);
        }
        self.1.retain(keep);
    }
}

impl CfgItem for ToolFn {
    fn retain(&mut self, keep: Keep<'_>) {
        let inputs = std::mem::take(&mut self.sig.inputs);
        self.sig.inputs = retain(inputs, |input| match input {
            FnArg::Receiver(receiver) => retain_part(&mut receiver.attrs, keep),
            FnArg::Typed(param) => retain_part(&mut param.attrs, keep),
        });
    }
}

impl CfgItem for syn::ItemImpl {
    /// An impl has no parts here: its methods are split one by one.
    fn retain(&mut self, _: Keep<'_>) {}
}

impl CfgItem for ItemStruct {
    fn retain(&mut self, keep: Keep<'_>) {
        retain_fields(&mut self.fields, keep);
    }
}

impl CfgItem for ItemEnum {
    fn retain(&mut self, keep: Keep<'_>) {
        let variants = std::mem::take(&mut self.variants);
        self.variants = retain(variants, |variant: &mut Variant| {
            let is_kept = retain_part(&mut variant.attrs, keep);
            retain_fields(&mut variant.fields, keep);
            is_kept
        });
    }
}

/// The compiler has already removed the parts of a derive's item that are under `cfg`, but not the entries of options.
impl CfgItem for DeriveInput {
    fn retain(&mut self, keep: Keep<'_>) {
        self.attrs.iter_mut().for_each(|attr| retain_options(attr, keep));
        if let Data::Struct(data) = &mut self.data {
            retain_fields(&mut data.fields, keep);
        }
    }
}

fn retain_fields(fields: &mut Fields, keep: Keep<'_>) {
    if let Fields::Named(fields) = fields {
        let named = std::mem::take(&mut fields.named);
        fields.named = retain(named, |field: &mut Field| retain_part(&mut field.attrs, keep));
    }
}

fn retain<T>(list: Punctuated<T, Token![,]>, mut keep: impl FnMut(&mut T) -> bool) -> Punctuated<T, Token![,]> {
    list.into_iter().filter_map(|mut one| keep(&mut one).then_some(one)).collect()
}

fn retain_part(attrs: &mut Vec<Attribute>, keep: Keep<'_>) -> bool {
    let is_kept = keep(attrs);
    for attr in attrs {
        retain_options(attr, keep);
    }
    is_kept
}

fn retain_options(attr: &mut Attribute, keep: Keep<'_>) {
    if has_option_list(attr)
        && let Meta::List(list) = &mut attr.meta
    {
        retain_entries(&mut list.tokens, keep);
    }
}

/// Calls `keep` with the attributes of each entry in a list of options, also of the lists in `key(…)` and `key = […]`.
fn retain_entries(tokens: &mut TokenStream, keep: Keep<'_>) {
    // Without an attribute, nothing can change.
    if !has_attribute(tokens.clone()) {
        return;
    }
    for entry in split_entries(std::mem::take(tokens)) {
        let mut at = 0;
        while is_punct(entry.get(at), '#') && is_group(entry.get(at + 1), Delimiter::Bracket) {
            at += 2;
        }
        let (written, rest) = entry.split_at(at);
        let parsed = Attribute::parse_outer.parse2(written.iter().cloned().collect());
        let Ok(mut attrs) = parsed else {
            tokens.extend(entry.iter().cloned());
            continue;
        };
        if !keep(&mut attrs) {
            continue;
        }
        tokens.extend(attrs.into_iter().map(ToTokens::into_token_stream));
        let is_list = |index: usize| {
            index == 1 && is_group(rest.get(1), Delimiter::Parenthesis)
                || index == 2 && is_punct(rest.get(1), '=') && is_group(rest.get(2), Delimiter::Bracket)
        };
        tokens.extend(rest.iter().enumerate().map(|(index, token)| match token {
            TokenTree::Group(group) if is_list(index) => {
                let mut inner = group.stream();
                retain_entries(&mut inner, keep);
                let mut changed = Group::new(group.delimiter(), inner);
                changed.set_span(group.span());
                changed.into()
            }
            other => other.clone(),
        }));
    }
}

/// Splits the entries of a list after each comma, except those between the angle brackets of a type.
fn split_entries(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut entries = vec![Vec::new()];
    let mut depth = 0_usize;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        // An attribute begins an entry, so an open `<` was a comparison.
        let ends = is_punct(Some(&token), ',') && (depth == 0 || is_punct(tokens.peek(), '#'));
        let is_arrow = matches!(entries.last().and_then(|entry| entry.last()), Some(TokenTree::Punct(punct)) if "-=".contains(punct.as_char()));
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' && !is_arrow => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(entry) = entries.last_mut() {
            entry.push(token);
        }
        if ends {
            depth = 0;
            entries.push(Vec::new());
        }
    }
    entries
}

/// Returns whether the tokens contain `#[…]`, however deep inside.
fn has_attribute(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let found = match &token {
            TokenTree::Group(group) => has_attribute(group.stream()),
            token => is_punct(Some(token), '#') && is_group(tokens.peek(), Delimiter::Bracket),
        };
        if found {
            return true;
        }
    }
    false
}

fn is_punct(token: Option<&TokenTree>, punct: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == punct)
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Returns the predicate of `#[cfg(…)]` or `#[cfg_attr(…, …)]`.
pub fn cfg_predicate(attr: &Attribute) -> Option<TokenStream> {
    match (&attr.meta, parse_cfg_attr(attr)) {
        (Meta::List(list), _) if attr.path().is_ident("cfg") => Some(list.tokens.clone()),
        (_, Some((predicate, _))) => Some(predicate),
        _ => None,
    }
}

/// Returns the predicate of `#[cfg_attr(…, …)]`, and the attributes that depend on it.
pub fn parse_cfg_attr(attr: &Attribute) -> Option<(TokenStream, Vec<Attribute>)> {
    let Meta::List(list) = &attr.meta else { return None };
    if !attr.path().is_ident("cfg_attr") {
        return None;
    }
    let parse = |input: ParseStream<'_>| {
        let predicate = predicate(input)?;
        let _: Option<Token![,]> = input.parse()?;
        Ok((predicate, Punctuated::<Meta, Token![,]>::parse_terminated(input)?))
    };
    let (predicate, metas) = parse.parse2(list.tokens.clone()).ok()?;
    Some((predicate, metas.into_iter().map(|meta| Attribute { meta, ..attr.clone() }).collect()))
}

/// Reads a predicate of `cfg`, which can also be `true` or `false`.
fn predicate(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    if input.fork().call(Ident::parse_any).is_ok_and(|word| word == "true" || word == "false") {
        return Ok(input.call(Ident::parse_any)?.into_token_stream());
    }
    Ok(input.parse::<Meta>()?.into_token_stream())
}

/// Resolves each `cfg` and `cfg_attr` with the predicate `first`, as if it holds or not. Returns whether the part remains.
fn resolve_cfg(attrs: &mut Vec<Attribute>, first: &TokenStream, holds: bool) -> bool {
    let is_first = |other: &TokenStream| other.to_string() == first.to_string();
    let mut is_there = true;
    let mut rest = Vec::with_capacity(attrs.len());
    for attr in attrs.drain(..) {
        if !cfg_predicate(&attr).is_some_and(|predicate| is_first(&predicate)) {
            rest.push(attr);
        } else if let Some((_, attributes)) = parse_cfg_attr(&attr) {
            rest.extend(attributes.into_iter().filter(|_| holds));
        } else {
            is_there &= holds;
        }
    }
    *attrs = rest;
    is_there
}

/// Returns the first predicate on which an attribute of a method depends that the macro must read, and the method for builds in
/// which it holds and does not hold.
pub fn split_by_cfg_attr(method: &ToolFn) -> Option<(TokenStream, [ToolFn; 2])> {
    const READ: &[&str] = &["tool", "cfg", "cfg_attr", "doc"];
    let is_read =
        |attr: &Attribute| attr.path().segments.last().is_some_and(|last| READ.iter().any(|word| last.ident == word));
    let found = method.attrs.iter().filter_map(parse_cfg_attr).find(|(_, inner)| inner.iter().any(is_read));
    let (first, _) = found?;
    let with = |holds| {
        let mut copy = method.clone();
        let attrs = std::mem::take(&mut copy.attrs).into_iter().flat_map(|attr| match parse_cfg_attr(&attr) {
            Some((predicate, inner)) if predicate.to_string() == first.to_string() => {
                if holds {
                    inner
                } else {
                    Vec::new()
                }
            }
            _ => vec![attr],
        });
        copy.attrs = attrs.collect();
        copy
    };
    Some((first.clone(), [with(true), with(false)]))
}

/// Returns two `#[cfg(…)]`: one for builds in which `predicate` holds, and one for the others.
pub fn cfg_cases(predicate: &TokenStream) -> [TokenStream; 2] {
    [quote!(#[cfg(#predicate)]), quote!(#[cfg(not(#predicate))])]
}

/// Returns the predicate that holds if the compiler keeps an entry with these attributes; `None` if it always does.
pub fn entry_predicate(attrs: &[Attribute]) -> Option<TokenStream> {
    let each: Vec<TokenStream> = attrs
        .iter()
        .filter_map(|attr| match parse_cfg_attr(attr) {
            Some((predicate, inner)) => entry_predicate(&inner).map(|inner| quote!(any(not(#predicate), #inner))),
            None => cfg_predicate(attr),
        })
        .collect();
    (!each.is_empty()).then(|| quote!(all(#(#each),*)))
}

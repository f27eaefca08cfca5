//! Properties of types. References and `impl Trait` are found in the tokens of a type, however deep inside.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{AngleBracketedGenericArguments, GenericArgument, Path, PathArguments, Type, TypeParamBound};

/// Returns the first borrow in `ty`: a reference, a `Cow` without its lifetime, or a lifetime that is not `'static`. With
/// `allow_static`, `&'static T` does not count.
pub fn find_borrow(ty: impl ToTokens, allow_static: bool) -> Option<TokenStream> {
    let mut tokens = ty.into_token_stream().into_iter();
    while let Some(token) = tokens.next() {
        let rest = tokens.clone();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '&' && !(allow_static && is_static(rest.clone())) => {
                return Some([token].into_iter().chain(until_comma(rest)).collect());
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => match tokens.next() {
                Some(name) if name.to_string() != "static" => return Some([token, name].into_iter().collect()),
                _ => {}
            },
            // A `Cow` borrows, even without its lifetime.
            TokenTree::Ident(word) if word == "Cow" && !names_lifetime(rest.clone()) => {
                return Some([token].into_iter().chain(until_comma(rest)).collect());
            }
            TokenTree::Group(group) => {
                if let Some(found) = find_borrow(group.stream(), allow_static) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns whether `ty` is unsized: `str`, `[T]`, `dyn Trait`.
pub fn is_unsized(ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::TraitObject(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

/// Returns whether `ty` is a reference to a type that looks like the context of a call.
pub fn is_context_reference(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    matches!(&*reference.elem, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
}

/// Returns the first `impl Trait` in `ty`.
pub fn find_impl_trait(ty: impl ToTokens) -> Option<TokenStream> {
    let mut tokens = ty.into_token_stream().into_iter();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) if word == "impl" => {
                return Some([token].into_iter().chain(until_comma(tokens)).collect());
            }
            TokenTree::Group(group) => {
                if let Some(found) = find_impl_trait(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_static(mut tokens: impl Iterator<Item = TokenTree>) -> bool {
    is_token(tokens.next(), "'") && is_token(tokens.next(), "static")
}

/// Returns whether the brackets after `Cow` begin with a lifetime. Returns `true` without brackets: that is another type.
fn names_lifetime(mut tokens: impl Iterator<Item = TokenTree>) -> bool {
    !is_token(tokens.next(), "<") || is_token(tokens.next(), "'")
}

fn is_token(token: Option<TokenTree>, text: &str) -> bool {
    token.is_some_and(|token| token.to_string() == text)
}

fn until_comma(tokens: impl Iterator<Item = TokenTree>) -> impl Iterator<Item = TokenTree> {
    tokens.take_while(|token| !matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | '>')))
}

/// Returns `T` if `ty` is `name<T>`.
pub fn type_argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    match ty {
        Type::Group(group) => type_argument(&group.elem, name),
        Type::Paren(paren) => type_argument(&paren.elem, name),
        Type::Path(path) => match last_segment(&path.path)? {
            (word, Some(AngleBracketedGenericArguments { args, .. })) if word == name && args.len() == 1 => {
                args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the type inside of `Option`, `Vec` and `Box`, which implement the traits of a parameter only if that type does.
pub fn innermost(ty: &Type) -> &Type {
    let inner = ["Option", "Vec", "Box"].iter().find_map(|name| type_argument(ty, name));
    inner.filter(|inner| !is_unsized(inner)).map_or(ty, innermost)
}

/// The kind of a return type.
pub enum ReturnKind<'a> {
    /// One value.
    Value,
    /// A stream of values of this type.
    Stream(&'a Type),
    /// A stream without the type of its items.
    StreamOfUnknown,
    /// A stream inside a `Result`.
    StreamInResult,
}

/// Returns whether `ty` is written as a future: `impl Future`, `BoxFuture<…>`, `LocalBoxFuture<…>` or `Pin<Box<dyn Future>>`.
pub fn is_future(ty: &Type) -> bool {
    let contains_word =
        |tokens: &dyn ToTokens, word: &str| tokens.to_token_stream().into_iter().any(|token| token.to_string() == word);
    match ty {
        Type::ImplTrait(it) => it.bounds.iter().any(|bound| {
            matches!(bound, TypeParamBound::Trait(bound) if bound.path.segments.last().is_some_and(|last| last.ident == "Future"))
        }),
        Type::Path(path) => match last_segment(&path.path) {
            Some((word, Some(_))) if word == "BoxFuture" || word == "LocalBoxFuture" => true,
            Some((word, Some(arguments))) if word == "Pin" => contains_word(arguments, "dyn") && contains_word(arguments, "Future"),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the kind of the return type `ty`.
pub fn return_kind(ty: &Type) -> ReturnKind<'_> {
    match ty {
        Type::ImplTrait(it) => {
            let paths = it.bounds.iter().filter_map(|bound| match bound {
                TypeParamBound::Trait(bound) => Some(&bound.path),
                _ => None,
            });
            match paths.filter_map(last_segment).find(|(word, _)| word == "Stream") {
                Some((_, arguments)) => item_type(arguments).map_or(ReturnKind::StreamOfUnknown, ReturnKind::Stream),
                None => ReturnKind::Value,
            }
        }
        Type::Path(path) => match last_segment(&path.path) {
            Some((word, Some(arguments))) if word == "BoxStream" => {
                let last = arguments.args.iter().rev().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                });
                last.map_or(ReturnKind::StreamOfUnknown, ReturnKind::Stream)
            }
            Some((word, Some(arguments))) if word == "Result" => match arguments.args.first() {
                Some(GenericArgument::Type(inner)) if !matches!(return_kind(inner), ReturnKind::Value) => {
                    ReturnKind::StreamInResult
                }
                _ => ReturnKind::Value,
            },
            _ => ReturnKind::Value,
        },
        _ => ReturnKind::Value,
    }
}

/// Returns the last word of a path, and its generic arguments.
fn last_segment(path: &Path) -> Option<(String, Option<&AngleBracketedGenericArguments>)> {
    let last = path.segments.last()?;
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments),
        _ => None,
    };
    Some((last.ident.to_token_stream().to_string(), arguments))
}

/// Returns `T` of `<Item = T>`.
fn item_type(arguments: Option<&AngleBracketedGenericArguments>) -> Option<&Type> {
    arguments?.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Item" => Some(&assoc.ty),
        _ => None,
    })
}

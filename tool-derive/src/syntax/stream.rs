//! Outputs that come one after the other: `impl Stream<Item = T>`, or a `BoxStream` of them.

use quote::ToTokens;
use syn::{AngleBracketedGenericArguments, GenericArgument, Path, PathArguments, Type, TypeParamBound};

/// The kind of a return type.
pub(crate) enum Returns<'a> {
    /// One value.
    Value,
    /// A stream of values of this type.
    Stream(&'a Type),
    /// A stream that does not say of what.
    Unsaid,
    /// A stream inside a `Result`.
    InResult,
}

/// Returns whether a function that returns `ty` gives a future of its output.
pub(crate) fn is_future(ty: &Type) -> bool {
    let says =
        |tokens: &dyn ToTokens, word: &str| tokens.to_token_stream().into_iter().any(|token| token.to_string() == word);
    match ty {
        Type::ImplTrait(it) => it.bounds.iter().any(|bound| {
            matches!(bound, TypeParamBound::Trait(bound) if bound.path.segments.last().is_some_and(|last| last.ident == "Future"))
        }),
        Type::Path(path) => match arguments(&path.path) {
            Some((word, Some(_))) if word == "BoxFuture" || word == "LocalBoxFuture" => true,
            Some((word, Some(arguments))) if word == "Pin" => says(arguments, "dyn") && says(arguments, "Future"),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the kind of the return type `ty`.
pub(crate) fn returns(ty: &Type) -> Returns<'_> {
    match ty {
        Type::ImplTrait(it) => {
            let paths = it.bounds.iter().filter_map(|bound| match bound {
                TypeParamBound::Trait(bound) => Some(&bound.path),
                _ => None,
            });
            match paths.filter_map(arguments).find(|(word, _)| word == "Stream") {
                Some((_, arguments)) => item(arguments).map_or(Returns::Unsaid, Returns::Stream),
                None => Returns::Value,
            }
        }
        Type::Path(path) => match arguments(&path.path) {
            Some((word, Some(arguments))) if word == "BoxStream" => {
                let last = arguments.args.iter().rev().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                });
                last.map_or(Returns::Unsaid, Returns::Stream)
            }
            Some((word, Some(arguments))) if word == "Result" => match arguments.args.first() {
                Some(GenericArgument::Type(inner)) if !matches!(returns(inner), Returns::Value) => Returns::InResult,
                _ => Returns::Value,
            },
            _ => Returns::Value,
        },
        _ => Returns::Value,
    }
}

/// The last word of a path, and what stands in its brackets.
fn arguments(path: &Path) -> Option<(String, Option<&AngleBracketedGenericArguments>)> {
    let last = path.segments.last()?;
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments),
        _ => None,
    };
    Some((last.ident.to_token_stream().to_string(), arguments))
}

/// `T` of `<Item = T>`.
fn item(arguments: Option<&AngleBracketedGenericArguments>) -> Option<&Type> {
    arguments?.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Item" => Some(&assoc.ty),
        _ => None,
    })
}

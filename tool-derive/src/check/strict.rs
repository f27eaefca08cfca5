//! What the strict dialects of providers cannot say, as far as a type shows it. The rest is found by `Toolset::lint`.

use syn::{GenericArgument, PathArguments, Type};

use crate::{
    diag::{Errors, text},
    model::ToolDef,
};

/// With `strict`, no parameter has a type that takes any keys, or anything at all.
pub fn check(tool: &ToolDef, errors: &mut Errors) {
    if tool.options.strict.is_none() {
        return;
    }
    for param in tool.all_fields().filter(|param| !param.is_secret()) {
        if let Some((ty, wrong)) = inexpressible(&param.ty) {
            errors.over(ty, wrong);
        }
    }
}

/// Returns the first part of `ty` that a strict dialect cannot describe, and why.
fn inexpressible(ty: &Type) -> Option<(&Type, &'static str)> {
    match ty {
        Type::Array(array) => inexpressible(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(inexpressible),
        Type::Paren(paren) => inexpressible(&paren.elem),
        Type::Path(path) => {
            let segments = &path.path.segments;
            let last = segments.last()?;
            let types: Vec<&Type> = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().filter_map(of_type).collect(),
                _ => Vec::new(),
            };
            let name = last.ident.to_string();
            let of_json = segments.len() > 1 && segments[segments.len() - 2].ident == "serde_json";
            match &*name {
                "HashMap" | "BTreeMap" | "IndexMap" if types.len() > 1 => Some((ty, text::STRICT_MAP)),
                "Map" if of_json => Some((ty, text::STRICT_MAP)),
                "Value" if of_json => Some((ty, text::STRICT_ANY)),
                _ => types.into_iter().find_map(inexpressible),
            }
        }
        _ => None,
    }
}

fn of_type(argument: &GenericArgument) -> Option<&Type> {
    match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

//! Which attributes are ours, and those that stand where they mean nothing.

use syn::{Attribute, Ident, Meta, spanned::Spanned as _};

use crate::diag::{Errors, suggest::nearest, text};

/// The attributes of parameters, which are taken off the item.
const OURS: &[&str] = &["arg", "state", "context", "dynamic"];

/// The attributes that the compiler knows on a parameter.
const KNOWN: &[&str] = &["allow", "cfg", "cfg_attr", "deny", "doc", "expect", "forbid", "warn"];

/// Attributes of others that say something of a field, and nothing of a parameter.
const OTHERS: &[&str] = &["serde", "schemars", "validate", "garde"];

/// Returns whether `attr` is ours.
pub(crate) fn is_ours(attr: &Attribute) -> bool {
    OURS.iter().any(|name| attr.path().is_ident(name))
}

/// Returns what is wrong with an attribute of a function's parameter that is not ours.
pub(crate) fn refusal(attr: &Attribute) -> Option<String> {
    let word = attr.path().get_ident().map(Ident::to_string)?;
    if KNOWN.contains(&&*word) || is_ours(attr) {
        return None;
    }
    if OTHERS.contains(&&*word) {
        return Some(text::of_others(&word));
    }
    let ours = match &*word {
        "ctx" | "cx" => Some("context"),
        "param" | "parameter" | "tool" | "field" => Some("arg"),
        "app" | "inject" | "deps" | "from_ref" => Some("state"),
        word => nearest(word, OURS),
    };
    ours.map(|ours| text::unknown_attribute(&word, ours))
}

/// Returns whether `attr` is ours, or was refused, so that the compiler must not see it.
pub(crate) fn is_taken(attr: &Attribute) -> bool {
    is_ours(attr) || refusal(attr).is_some()
}

/// Takes off an item what says something of a parameter, or that it is a tool once more.
pub(crate) fn misplaced(attrs: &mut Vec<Attribute>, errors: &mut Errors) {
    attrs.retain(|attr| {
        if is_tool(attr) {
            errors.over(attr.path(), text::TOOL_TWICE);
            return false;
        }
        if is_ours(attr) && !matches!(attr.meta, Meta::NameValue(_)) {
            errors.at(attr.path().span(), text::on_a_parameter(&attr.path().segments[0].ident.to_string()));
            return false;
        }
        true
    });
}

/// Returns whether `attr` is `#[tool]`, by its usual names.
fn is_tool(attr: &Attribute) -> bool {
    let words: Vec<String> = attr.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
    words == ["tool"] || words == ["tool_runtime", "tool"]
}

//! What dynamic parameters say of each other must be possible.

use std::collections::HashSet;

use proc_macro2::Ident;
use syn::{Type, ext::IdentExt};

use crate::{
    diag::{Errors, text},
    graph::{Graph, same},
    model::{Arg, Tool},
    syntax::dynamic::{Dynamic, last},
};

/// Runs every rule.
pub(super) fn check(tool: &Tool, errors: &mut Errors) {
    variant(tool, errors);
    contexts(std::iter::once(tool), errors);
}

/// Runs every rule that looks at one variant.
pub(super) fn variant(tool: &Tool, errors: &mut Errors) {
    for arg in tool.args() {
        let Some(dynamic) = &arg.attrs.dynamic else { continue };
        if arg.attrs.secret.is_some() {
            errors.at(dynamic.span, text::DYNAMIC_SECRET);
        }
        nested(arg, dynamic, errors);
        names(tool, arg, dynamic, errors);
    }
    for cycle in Graph::of(tool).cycles() {
        let path: Vec<String> = cycle.path.iter().map(|name| name.unraw().to_string()).collect();
        errors.at(cycle.at.span(), text::cycle(&path));
    }
}

/// A nested parameter says nothing that its fields have to say.
fn nested(arg: &Arg, dynamic: &Dynamic, errors: &mut Errors) {
    let Some(span) = dynamic.nested else { return };
    if let Type::Path(path) = &arg.ty
        && let Some(last) = path.path.segments.last()
        && ["Vec", "Option", "HashMap", "BTreeMap", "Box"].iter().any(|word| last.ident == word)
        && !last.arguments.is_none()
    {
        errors.over(&arg.ty, text::NESTED_TYPE);
    }
    if dynamic.validate.is_some() {
        errors.at(span, text::NESTED_VALIDATE);
    }
    if let Some(name) = dynamic.hints.first() {
        errors.at(name.span(), text::NESTED_HINTS);
    }
    if arg.attrs.says_something() {
        errors.at(span, text::NESTED_ARG);
    }
}

/// A name is that of another parameter that can be waited for or seen, and is given once.
fn names(tool: &Tool, own: &Arg, dynamic: &Dynamic, errors: &mut Errors) {
    let mut seen: Vec<&Ident> = Vec::new();
    let waits = dynamic.before().map(|name| (name, true));
    for (name, waits) in waits.chain(dynamic.hints.iter().map(|name| (name, false))) {
        let word = name.unraw().to_string();
        if seen.iter().any(|earlier| same(earlier, name)) {
            errors.at(name.span(), text::named_twice(&word));
            continue;
        }
        seen.push(name);
        match tool.args().find(|arg| same(&arg.ident, name)) {
            None => {
                let can_be = |arg: &&Arg| {
                    let fits = if waits { arg.attrs.dynamic.is_some() } else { arg.attrs.secret.is_none() };
                    fits && !same(&arg.ident, &own.ident)
                };
                let known: Vec<String> = tool.args().filter(can_be).map(|arg| arg.ident.unraw().to_string()).collect();
                errors.at(name.span(), text::no_parameter(&word, &known));
            }
            Some(_) if same(name, &own.ident) => errors.at(name.span(), text::own_name(&word)),
            Some(arg) if arg.attrs.secret.is_some() => errors.at(name.span(), text::secret_name(&word)),
            Some(arg) if waits && arg.attrs.dynamic.is_none() => errors.at(name.span(), text::static_name(&word)),
            Some(_) => {}
        }
    }
}

/// What validators know has a type of its own for each, so these have different names.
pub(super) fn contexts<'t>(tools: impl Iterator<Item = &'t Tool>, errors: &mut Errors) {
    let mut names = HashSet::new();
    for tool in tools {
        let validated = tool.args().filter(|arg| arg.attrs.dynamic.is_some() && !arg.is_nested());
        let fields = validated.map(|arg| (tool.context(&arg.ident), arg.ident.span()));
        let check = tool.options.check.iter().map(|path| (tool.check_context(), last(&path.path)));
        for (name, span) in fields.chain(check) {
            if !names.insert(name.clone()) {
                errors.at(span, text::same_context(&name.to_string()));
            }
        }
    }
}

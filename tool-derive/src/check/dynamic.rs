//! Checks that the dependencies between dynamic parameters are possible.

use std::collections::HashSet;

use proc_macro2::Ident;
use syn::{Type, ext::IdentExt};

use crate::declaration::{DependencyGraph, Param, ValidatorScope, is_same_ident, unknown_parameter_error};
use crate::diag::{Errors, text};
use crate::syntax::params::{Dynamic, FunctionPath, last_word_span};

/// Checks the dynamic parameters of one tool, variant or nested input against every rule.
pub fn check(params: &[Param], errors: &mut Errors) {
    for param in params {
        let Some(dynamic) = &param.attrs.dynamic else { continue };
        if param.is_secret() {
            errors.at(dynamic.span, text::DYNAMIC_SECRET);
        }
        check_nested(param, dynamic, errors);
        check_names(params, param, dynamic, errors);
    }
    for cycle in DependencyGraph::of(params).cycles() {
        let path: Vec<String> = cycle.path.iter().map(|name| name.unraw().to_string()).collect();
        errors.at(cycle.at.span(), text::dependency_cycle(&path));
    }
}

/// Checks that a nested parameter is one struct, and has no options that belong to the struct's fields.
fn check_nested(param: &Param, dynamic: &Dynamic, errors: &mut Errors) {
    let Some(span) = dynamic.options.nested else { return };
    if let Type::Path(path) = &param.ty
        && let Some(last) = path.path.segments.last()
        && ["Vec", "Option", "HashMap", "BTreeMap", "Box"].iter().any(|word| last.ident == word)
        && !last.arguments.is_none()
    {
        errors.over(&param.ty, text::NESTED_TYPE);
    }
    if dynamic.options.validate.is_some() {
        errors.at(span, text::NESTED_VALIDATE);
    }
    if let Some(name) = dynamic.options.hints.first() {
        errors.at(name.span(), text::NESTED_HINTS);
    }
    if param.attrs.describes_value() {
        errors.at(span, text::NESTED_ARG);
    }
}

/// Checks each name in the options of `own`: it is another parameter that `own` can wait for or see, and is not repeated.
fn check_names(params: &[Param], own: &Param, dynamic: &Dynamic, errors: &mut Errors) {
    let mut seen: Vec<&Ident> = Vec::new();
    for name in dynamic.dependencies().chain(&dynamic.options.hints) {
        let word = name.unraw().to_string();
        if seen.iter().any(|earlier| is_same_ident(earlier, name)) {
            errors.at(name.span(), text::named_more_than_once(&word));
            continue;
        }
        seen.push(name);
        match params.iter().find(|param| is_same_ident(&param.ident, name)) {
            None => errors.push(unknown_parameter_error(params, &own.ident, name)),
            Some(_) if is_same_ident(name, &own.ident) => errors.at(name.span(), text::own_name(&word)),
            Some(param) if param.is_secret() => errors.at(name.span(), text::secret_name(&word)),
            Some(_) => {}
        }
    }
}

/// Checks that the context types of validators have different names, including that of `check`, the check of the whole call.
pub fn check_contexts<'d>(
    all: impl Iterator<Item = ValidatorScope<'d>>,
    check: Option<(ValidatorScope<'d>, &'d FunctionPath)>,
    errors: &mut Errors,
) {
    let fields = all.flat_map(|scope| {
        scope.with_validators().map(move |(param, _)| (scope.context_ident(&param.ident), param.ident.span()))
    });
    let check = check.map(|(scope, path)| (scope.check_context_ident(), last_word_span(&path.path)));
    let mut names = HashSet::new();
    for (name, span) in fields.chain(check) {
        if !names.insert(name.clone()) {
            errors.at(span, text::same_context(&name.to_string()));
        }
    }
}

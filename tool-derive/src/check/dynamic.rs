//! Checks that the dependencies between dynamic parameters are possible.

use std::collections::HashSet;

use proc_macro2::Ident;
use syn::{Type, ext::IdentExt};

use crate::declaration::{DependencyGraph, Param, ValidatorScope, is_same_ident, unknown_parameter_error};
use crate::diag::{Errors, text};
use crate::syntax::{
    params::{Default, DerivedValue, Dynamic, FunctionPath, last_word_span},
    types::find_borrow,
};

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

/// Checks that a nested parameter is one struct or a list of them, and has no options that belong to the struct's fields.
fn check_nested(param: &Param, dynamic: &Dynamic, errors: &mut Errors) {
    let (Some(span), Some(inside)) = (dynamic.options.nested, param.nested_type()) else { return };
    if let Type::Path(path) = inside
        && let Some(last) = path.path.segments.last()
        && ["Vec", "Option", "HashMap", "BTreeMap", "Box"].iter().any(|word| last.ident == word)
        && !last.arguments.is_none()
    {
        errors.over(inside, text::NESTED_TYPE);
    }
    if dynamic.options.validate.is_some() {
        errors.at(span, text::NESTED_VALIDATE);
    }
    if let Some(name) = dynamic.options.hints.first() {
        errors.at(name.span(), text::NESTED_HINTS);
    }
    if let Some(derived) = &dynamic.options.derives {
        errors.at(derived.ident.span(), text::NESTED_DERIVES);
    }
    let arg = &param.attrs.arg;
    match &arg.default {
        Some(Default::Value(value)) if param.is_nested_list() => errors.over(value, text::NESTED_DEFAULT),
        _ => {}
    }
    let is_of_list = arg.range.is_none() && arg.pattern.is_none() && arg.format.is_none() && arg.examples.is_empty();
    if param.attrs.describes_value() && !(is_of_list && param.is_nested_list()) {
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

/// Checks that derived data has names of its own and owned types, and that a function takes only data that a validator derives.
fn check_derived(scope: ValidatorScope<'_>, errors: &mut Errors) {
    let all: Vec<&DerivedValue> = scope.fields.iter().filter_map(Param::derived).collect();
    let params = scope.fields.iter().map(|param| &param.ident);
    let others: Vec<&Ident> = params.chain(scope.state_args().filter_map(|state| state.ident.as_ref())).collect();
    for (index, derived) in all.iter().enumerate() {
        let mut names = others.iter().copied().chain(all[..index].iter().map(|earlier| &earlier.ident));
        if names.any(|name| is_same_ident(name, &derived.ident)) {
            errors.at(derived.ident.span(), text::derived_name(&derived.ident.unraw().to_string()));
        }
        if let Some(found) = find_borrow(&derived.ty, true) {
            errors.over(found, text::BORROWED_DERIVED);
        }
    }
    for arg in scope.derived_args() {
        if all.iter().all(|derived| !is_same_ident(&derived.ident, &arg.ident)) {
            let known: Vec<String> = all.iter().map(|derived| derived.ident.unraw().to_string()).collect();
            errors.at(arg.ident.span(), text::unknown_derived(&arg.ident.unraw().to_string(), &known));
        }
    }
}

/// Checks that the context types of validators have different names, including that of `check`, the check of the whole call.
pub fn check_contexts<'d>(
    all: impl Iterator<Item = ValidatorScope<'d>>,
    check: Option<(ValidatorScope<'d>, &'d FunctionPath)>,
    errors: &mut Errors,
) {
    let all: Vec<ValidatorScope<'d>> = all.collect();
    for scope in &all {
        check_derived(*scope, errors);
    }
    let fields = all.into_iter().flat_map(|scope| {
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

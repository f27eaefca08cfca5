//! The rules for tools, nested inputs and outputs, one function each.

pub mod advice;
mod dynamic;
mod free_names;
pub mod limits;

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{
    Data, DeriveInput, Expr, Field, Fields, GenericArgument, LitStr, PathArguments, Type, ext::IdentExt as _,
    spanned::Spanned as _,
};

use crate::declaration::{
    Argument, Body, DeclarationHead, EnumInput, Input, NestedInput, Param, Params, Start, ToolDef, Variant,
};
use crate::diag::{Errors, text};
use crate::syntax::{
    json,
    options::{Approval, Effect},
    params::Default,
    serde_attrs::{self, Direction, RenameRule},
};
use free_names::find_free_name;

/// The maximum number of parameters of a tool, including the tag of a variant.
const MAX_PARAMETERS: usize = 64;

/// Checks a tool against every rule, and adds the errors to `errors`.
pub fn check(tool: &ToolDef, errors: &mut Errors) {
    check_name(tool, errors);
    check_description(tool, errors);
    check_examples(tool, errors);
    if let Input::Params(params) = &tool.input {
        check_parameters(params, errors);
    }
    check_defaults(tool, errors);
    check_predicates(tool, errors);
    check_destructive(tool, errors);
    check_repetition(tool, errors);
    check_external(tool, errors);
    check_placement(tool, errors);
    check_touches(tool, errors);
    check_challenge(tool, errors);
    check_versions(tool, errors);
    check_strict(tool, errors);
    let scope = tool.validator_scope();
    let check = tool.options.check.as_ref().map(|check| (scope, check));
    match &tool.input {
        Input::Params(params) => {
            dynamic::check(&params.fields, errors);
            dynamic::check_contexts(std::iter::once(scope), check, errors);
            params.fields.iter().for_each(|param| limits::check(param, errors));
            if let Some(tag) = &tool.options.tag {
                errors.at(tag.span(), text::TAG_WITHOUT_ENUM);
            }
        }
        Input::Enum(enum_input) => {
            check_variants(enum_input, errors);
            dynamic::check_contexts(enum_input.variants.iter().map(Variant::validator_scope), check, errors);
        }
    }
}

/// Checks that variants have different tags, and checks the parameters of each variant.
fn check_variants(enum_input: &EnumInput, errors: &mut Errors) {
    let tag = &enum_input.tag;
    for param in enum_input.variants.iter().flat_map(|variant| &variant.params.fields) {
        if param.name == tag.value {
            errors.at(param.name_span(), text::like_the_tag(&tag.value));
        }
    }
    if !is_parameter_name(&tag.value) {
        errors.at(tag.span, text::invalid_tag(&tag.value));
    }
    let mut values = HashSet::new();
    for variant in &enum_input.variants {
        if let Some(tag) = &variant.params.tag
            && !values.insert(&tag.value)
        {
            errors.at(variant.head.ident.span(), text::same_tag(&tag.value));
        }
        check_parameters(&variant.params, errors);
        dynamic::check(&variant.params.fields, errors);
        variant.params.fields.iter().for_each(|param| limits::check(param, errors));
    }
}

/// Checks a nested input against every rule.
pub fn check_input(input: &NestedInput, errors: &mut Errors) {
    check_parameters(&input.params, errors);
    dynamic::check(&input.params.fields, errors);
    dynamic::check_contexts(std::iter::once(input.validator_scope()), None, errors);
    for param in &input.params.fields {
        if let Some(span) = param.attrs.arg.secret {
            errors.at(span, text::INPUT_SECRET);
        }
        limits::check(param, errors);
    }
}

/// Checks that every provider accepts the name: `[A-Za-z0-9_-]{1,64}`.
fn check_name(tool: &ToolDef, errors: &mut Errors) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let DeclarationHead { name, ident, .. } = &tool.head;
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        let span = tool.options.name.as_ref().map_or_else(|| ident.span(), syn::LitStr::span);
        errors.at(span, text::invalid_name(name));
    }
}

/// Checks that a tool has a description: without one, a model cannot choose it.
fn check_description(tool: &ToolDef, errors: &mut Errors) {
    if tool.head.description.is_none() {
        match &tool.options.description {
            Some(given) => errors.over(given, text::NO_DESCRIPTION),
            None => errors.at(tool.head.ident.span(), text::NO_DESCRIPTION),
        }
    }
}

/// Checks that each example is a JSON object whose keys are parameters.
fn check_examples(tool: &ToolDef, errors: &mut Errors) {
    let shown = tool.fields().iter().filter(|param| !param.is_secret());
    let known: Vec<&str> = shown.map(|param| param.name.as_str()).collect();
    for example in &tool.options.examples {
        let value = example.value();
        match json::object_keys(&value) {
            // The keys of an enum are not checked here: they depend on the variant. `lint` checks keys with escapes.
            Some(keys) if matches!(tool.input, Input::Params(_)) => {
                let unknown = keys.into_iter().filter(|key| !known.contains(key) && !key.contains('\\'));
                unknown.for_each(|key| errors.at(example.span(), text::example_key(key, &known)));
            }
            Some(_) => {}
            None => errors.at(example.span(), text::EXPECTED_EXAMPLE_OBJECT),
        }
    }
}

/// Checks that there are at most 64 parameters, with unique names that every provider accepts (`[A-Za-z0-9_.-]{1,64}`).
fn check_parameters(params: &Params, errors: &mut Errors) {
    let mut names = HashSet::new();
    for param in &params.fields {
        if !is_parameter_name(&param.name) {
            errors.at(param.name_span(), text::invalid_parameter_name(&param.name));
        } else if !names.insert(param.name.as_str()) {
            errors.at(param.name_span(), text::same_parameter(&param.name));
        }
    }
    if let Some((_, param)) = params.indexed().find(|(index, _)| *index == MAX_PARAMETERS) {
        errors.at(param.ident.span(), text::TOO_MANY_PARAMETERS);
    }
}

/// Checks that no default uses a parameter, because a default is computed without the other parameters.
fn check_defaults(tool: &ToolDef, errors: &mut Errors) {
    for param in tool.fields() {
        let Some(Default::Value(value)) = &param.attrs.arg.default else { continue };
        for other in tool.fields() {
            if let Some(span) = find_free_name(value.to_token_stream(), &other.ident) {
                errors.at(span, text::default_of(&other.name));
            }
        }
    }
}

fn is_parameter_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// Checks that the functions of the input, in `approval = when(…)` and `touches`, are no expressions of the parameters.
fn check_predicates(tool: &ToolDef, errors: &mut Errors) {
    let touches = tool.options.touches.as_ref().map(|touches| (&touches.value, false));
    for (function, is_predicate) in tool.approval_predicate().map(|when| (when, true)).into_iter().chain(touches) {
        // The path of a function may be the name of a parameter, too.
        if matches!(function, Expr::Path(_) | Expr::Closure(_)) {
            continue;
        }
        let tokens = function.to_token_stream();
        let is_used = |param: &&Param| find_free_name(tokens.clone(), &param.ident).is_some();
        if let Some(param) = tool.fields().iter().find(is_used) {
            let closure = closure_of_input(&tokens, tool.fields()).filter(|_| is_predicate);
            errors.over(function, text::predicate_of_parameters(&param.ident.to_string(), closure.as_deref()));
        } else if matches!(function, Expr::Binary(_) | Expr::Unary(_) | Expr::Lit(_)) {
            errors.over(function, text::PREDICATE);
        }
    }
}

/// Returns the closure that computes an expression of parameters from the input, if it is short.
fn closure_of_input(expr: &TokenStream, params: &[Param]) -> Option<String> {
    const MAX_BYTES: usize = 60;
    let (mut closure, mut word, mut in_text) = (String::from("|input| "), String::new(), false);
    for c in expr.to_string().chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if params.iter().any(|param| param.ident == word) && !closure.ends_with('.') && !in_text {
            closure.push_str("input.");
        }
        closure.push_str(&std::mem::take(&mut word));
        closure.push(c);
        in_text ^= c == '"';
    }
    let closure = closure.trim_end();
    (closure.len() <= MAX_BYTES && !closure.contains('\n')).then(|| closure.to_owned())
}

/// Checks that a destructive tool declares `approval`.
fn check_destructive(tool: &ToolDef, errors: &mut Errors) {
    let options = &tool.options;
    let effect = options.effect.as_ref();
    if let Some(effect) = effect.filter(|effect| effect.value == Effect::Destructive && options.approval.is_none()) {
        errors.at(effect.span, text::DESTRUCTIVE_NEEDS_APPROVAL);
    }
}

/// Checks that `eager`, `retries` and `resumable` fit the rest of the declaration.
fn check_repetition(tool: &ToolDef, errors: &mut Errors) {
    let options = &tool.options;
    let effect = options.effect.as_ref();
    let is_repeatable = options.idempotent.is_some() || effect.is_some_and(|effect| effect.value == Effect::ReadOnly);
    if let Some(span) = options.eager.filter(|_| !is_repeatable) {
        errors.at(span, text::EAGER_NEEDS_IDEMPOTENT);
    }
    let always = options.approval.as_ref().filter(|approval| matches!(approval.value, Approval::Always));
    if let (Some(span), Some(_)) = (options.eager, always) {
        errors.at(span, text::EAGER_WITH_APPROVAL);
    }
    if let Some(retries) = options.retries.as_ref().filter(|retries| retries.value > 0 && !is_repeatable) {
        errors.at(retries.span, text::RETRIES_NEED_IDEMPOTENT);
    }
    if let Some(span) = options.resumable {
        if is_repeatable {
            errors.at(span, text::RESUMABLE_WITH_IDEMPOTENT);
        }
        if let Body::Function(function) = &tool.body
            && !((function.is_async || function.is_stream)
                && function.args.iter().any(|arg| matches!(arg, Argument::Context { .. })))
        {
            errors.at(span, text::RESUMABLE_FN);
        }
    }
}

/// Checks that an external tool is no function, has an `output`, and no option about execution. Other tools have no `output`.
fn check_external(tool: &ToolDef, errors: &mut Errors) {
    let options = &tool.options;
    match (options.external, &options.output) {
        (Some(span), _) if matches!(tool.body, Body::Function(_)) => errors.at(span, text::EXTERNAL_FN),
        (Some(span), None) => errors.at(span, text::EXTERNAL_OUTPUT),
        (None, Some(output)) => errors.at(output.span, text::OUTPUT_WITHOUT_EXTERNAL),
        _ => {}
    }
    if options.external.is_some() {
        let run_options = [
            (options.blocking, "blocking"),
            (options.eager, "eager"),
            (options.resumable, "resumable"),
            (options.retries.as_ref().map(|retries| retries.span), "retries"),
        ];
        for (span, key) in run_options {
            if let Some(span) = span {
                errors.at(span, text::external_run(key));
            }
        }
    }
    // The validators of an external tool run in this process, and may need state.
    if let (Some(_), Some(state), false) = (options.external, &options.state, tool.start == Start::Validated) {
        errors.at(state.span, text::EXTERNAL_STATE);
    }
}

/// Checks that `migrate_from` does not contain the tool's own version.
fn check_versions(tool: &ToolDef, errors: &mut Errors) {
    let Some(version) = &tool.options.version else { return };
    for own in tool.options.migrate_from.iter().filter(|from| from.value() == version.value()) {
        errors.at(own.span(), text::MIGRATE_SELF);
    }
}

/// Checks that each placeholder in a challenge is closed, and names the tag or a parameter that a person may see.
fn check_challenge(tool: &ToolDef, errors: &mut Errors) {
    let Some(challenge) = &tool.options.challenge else { return };
    let text = challenge.value();
    let shown = tool.all_fields().filter(|param| !param.is_secret());
    let tag = match &tool.input {
        Input::Params(_) => None,
        Input::Enum(enum_input) => Some(&enum_input.tag.value),
    };
    let known: Vec<&str> = tag.into_iter().chain(shown.map(|param| &param.name)).map(String::as_str).collect();
    for part in text.split('{').skip(1) {
        match part.split_once('}') {
            Some((name, _)) if known.contains(&name) => {}
            Some((name, _)) => errors.at(challenge.span(), text::unknown_placeholder(name, &known)),
            None => errors.at(challenge.span(), text::CHALLENGE),
        }
    }
}

/// Rejects `touches` on a `sequential` tool, which never overlaps another call.
fn check_touches(tool: &ToolDef, errors: &mut Errors) {
    if let (Some(touches), Some(_)) = (&tool.options.touches, tool.options.sequential) {
        errors.at(touches.span, text::TOUCHES_WITH_SEQUENTIAL);
    }
}

/// Checks that a function has no option `state`, and that an `async fn` is not `blocking`.
fn check_placement(tool: &ToolDef, errors: &mut Errors) {
    if let Body::Function(function) = &tool.body {
        if let Some(state) = &tool.options.state {
            errors.at(state.span, text::STATE_ON_FUNCTION);
        }
        if let Some(span) = tool.options.blocking.filter(|_| function.is_async) {
            errors.at(span, text::BLOCKING_ASYNC);
        }
    }
}

/// Checks that a `strict` tool has no map and no `serde_json::Value` among its parameters.
pub fn check_strict(tool: &ToolDef, errors: &mut Errors) {
    if tool.options.strict.is_none() {
        return;
    }
    for param in tool.all_fields().filter(|param| !param.is_secret()) {
        if let Some((ty, wrong)) = find_inexpressible(&param.ty) {
            errors.over(ty, wrong);
        }
    }
}

/// Returns the first part of `ty` that a strict dialect cannot describe, with the reason.
fn find_inexpressible(ty: &Type) -> Option<(&Type, &'static str)> {
    match ty {
        Type::Array(array) => find_inexpressible(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(find_inexpressible),
        Type::Paren(paren) => find_inexpressible(&paren.elem),
        Type::Path(path) => {
            let segments = &path.path.segments;
            let last = segments.last()?;
            let types: Vec<&Type> = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().filter_map(as_type).collect(),
                _ => Vec::new(),
            };
            let name = last.ident.to_string();
            let of_json = segments.len() > 1 && segments[segments.len() - 2].ident == "serde_json";
            match &*name {
                "HashMap" | "BTreeMap" | "IndexMap" if types.len() > 1 => Some((ty, text::STRICT_MAP)),
                "Map" if of_json => Some((ty, text::STRICT_MAP)),
                "Value" if of_json => Some((ty, text::STRICT_ANY)),
                _ => types.into_iter().find_map(find_inexpressible),
            }
        }
        _ => None,
    }
}

fn as_type(argument: &GenericArgument) -> Option<&Type> {
    match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// The keys that the runtime itself writes into a tool's answer: a copy of `RESERVED_KEYS` in `tool-schema`.
const RESERVED_ANSWER_KEYS: [&str; 6] = ["ok", "value", "feedback", "instructions", "problems", "validationResults"];

/// Checks that serde writes no field of a struct under a reserved key of an answer. Does not check other items.
pub fn check_answer_keys(item: &DeriveInput, errors: &mut Errors) {
    let Data::Struct(data) = &item.data else { return };
    let Fields::Named(fields) = &data.fields else { return };
    if serde_attrs::has_flag(&item.attrs, &["transparent"]) {
        return;
    }
    let rule = serde_attrs::text(&item.attrs, "rename_all", Direction::Serialize)
        .and_then(|rule| RenameRule::from_name(&rule.value()));
    for field in &fields.named {
        if serde_attrs::has_flag(&field.attrs, &["skip", "skip_serializing", "flatten"]) {
            continue;
        }
        let name = serialized_name(field, rule);
        if RESERVED_ANSWER_KEYS.contains(&&*name) {
            errors.at(
                field.ident.as_ref().map_or_else(|| field.span(), syn::Ident::span),
                text::reserved_answer_key(&name),
            );
        }
    }
}

/// Returns the key that serde writes for the field.
fn serialized_name(field: &Field, rule: Option<RenameRule>) -> String {
    if let Some(name) = serde_attrs::text(&field.attrs, "rename", Direction::Serialize) {
        return LitStr::value(&name);
    }
    let name = field.ident.as_ref().map(|ident| ident.unraw().to_string()).unwrap_or_default();
    rule.map_or_else(|| name.clone(), |rule| rule.apply_to_field(&name))
}

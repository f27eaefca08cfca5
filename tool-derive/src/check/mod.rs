//! The rules that a tool must keep, one function each.

pub(crate) mod advice;
mod dynamic;
mod json;
pub(crate) mod limits;
pub(crate) mod output;
mod strict;

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::{
    diag::{Errors, text},
    model::{Body, Tool, Union},
    syntax::{
        params::Default,
        union::like_the_tag,
        values::{Approval, Effect},
    },
};

/// Runs every rule; each adds what it finds.
pub(crate) fn check(tool: &Tool, errors: &mut Errors) {
    name(tool, errors);
    description(tool, errors);
    examples(tool, errors);
    parameters(tool, errors);
    defaults(tool, errors);
    effect(tool, errors);
    external(tool, errors);
    placement(tool, errors);
    touches(tool, errors);
    challenge(tool, errors);
    versions(tool, errors);
    strict::check(tool, errors);
    dynamic::check(tool, errors);
    for arg in tool.args() {
        limits::check(arg, errors);
    }
    match &tool.union {
        Some(union) => variants(union, errors),
        None => {
            if let Some(tag) = &tool.options.tag {
                errors.at(tag.span(), text::TAG_HERE);
            }
        }
    }
}

/// Variants have different tags, and each is like a tool of its own.
fn variants(union: &Union, errors: &mut Errors) {
    for span in like_the_tag(union) {
        errors.at(span, text::like_the_tag(&union.tag.0));
    }
    if !is_name(&union.tag.0) {
        errors.at(union.tag.1, text::tag(&union.tag.0));
    }
    let mut values = HashSet::new();
    for (value, variant) in &union.variants {
        if !values.insert(value) {
            errors.at(variant.marker.span(), text::same_tag(value));
        }
        parameters(variant, errors);
        dynamic::variant(variant, errors);
        variant.args().for_each(|arg| limits::check(arg, errors));
    }
    dynamic::contexts(union.variants.iter().map(|(_, variant)| variant), errors);
}

/// The same of a struct that is nested.
pub(crate) fn input(input: &Tool, errors: &mut Errors) {
    parameters(input, errors);
    dynamic::check(input, errors);
    for arg in input.args() {
        if let Some(span) = arg.attrs.secret {
            errors.at(span, text::INPUT_SECRET);
        }
        limits::check(arg, errors);
    }
}

/// A name is what every provider accepts: `[A-Za-z0-9_-]{1,64}`.
fn name(tool: &Tool, errors: &mut Errors) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if tool.name.is_empty() || tool.name.len() > 64 || !tool.name.chars().all(fits) {
        let span = tool.options.name.as_ref().map_or_else(|| tool.marker.span(), syn::LitStr::span);
        errors.at(span, text::name(&tool.name));
    }
}

/// A model cannot choose a tool that does not say what it does.
fn description(tool: &Tool, errors: &mut Errors) {
    if tool.description.is_none() {
        match &tool.options.description {
            Some(given) => errors.over(given, text::NO_DESCRIPTION),
            None => errors.at(tool.marker.span(), text::NO_DESCRIPTION),
        }
    }
}

/// Example arguments are what a model could send: an object whose keys are parameters.
fn examples(tool: &Tool, errors: &mut Errors) {
    let known: Vec<&str> = tool.args().filter(|arg| arg.attrs.secret.is_none()).map(|arg| arg.name.as_str()).collect();
    for example in &tool.options.examples {
        let value = example.value();
        match json::keys(&value) {
            // What is known depends on the variant; a key with escapes is left to `lint`.
            Some(keys) if tool.union.is_none() => {
                let strange = keys.into_iter().filter(|key| !known.contains(key) && !key.contains('\\'));
                strange.for_each(|key| errors.at(example.span(), text::example_key(key, &known)));
            }
            Some(_) => {}
            None => errors.at(example.span(), text::EXAMPLES),
        }
    }
}

/// Parameters have different names that every provider accepts, `[A-Za-z0-9_.-]{1,64}`, and are not too many.
fn parameters(tool: &Tool, errors: &mut Errors) {
    let mut names = HashSet::new();
    // The tag of a variant is looked at once for all.
    for arg in tool.args().filter(|arg| arg.tag.is_none()) {
        let span = arg.attrs.rename.as_ref().map_or_else(|| arg.ident.span(), syn::LitStr::span);
        if !is_name(&arg.name) {
            errors.at(span, text::parameter(&arg.name));
        } else if !names.insert(arg.name.as_str()) {
            errors.at(span, text::same_parameter(&arg.name));
        }
    }
    if let Some(arg) = tool.args().nth(64) {
        errors.at(arg.ident.span(), text::TOO_MANY);
    }
}

/// A default is computed before there are any arguments.
fn defaults(tool: &Tool, errors: &mut Errors) {
    for arg in tool.args() {
        let Some(Default::Value(value)) = &arg.attrs.default else { continue };
        // What binds names of its own is the compiler's to look at.
        let text = value.to_token_stream().to_string();
        if ["|", "let ", "match "].iter().any(|word| text.contains(word)) {
            continue;
        }
        for other in tool.args().filter(|other| other.tag.is_none()) {
            if let Some(span) = named(value.to_token_stream(), &other.ident) {
                errors.at(span, text::default_of(&other.name));
            }
        }
    }
}

/// Where `tokens` name a value `name`: not a function, a field, or a part of a path.
fn named(tokens: TokenStream, name: &Ident) -> Option<Span> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct = |token: Option<&TokenTree>, all: &[char]| matches!(token, Some(TokenTree::Punct(punct)) if all.contains(&punct.as_char()));
    tokens.iter().enumerate().find_map(|(index, token)| match token {
        TokenTree::Ident(word) if word == name => {
            let before = index.checked_sub(1).and_then(|index| tokens.get(index));
            let after = tokens.get(index + 1);
            let is_part = is_punct(before, &['.', ':']) || is_punct(after, &[':', '!']);
            let is_called = matches!(after, Some(TokenTree::Group(_)));
            (!is_part && !is_called).then(|| word.span())
        }
        TokenTree::Group(group) => named(group.stream(), name),
        _ => None,
    })
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// What may happen twice, early or without a person must be harmless, or say so.
fn effect(tool: &Tool, errors: &mut Errors) {
    let options = &tool.options;
    let effect = options.effect.as_ref();
    if let Some(effect) = effect.filter(|effect| effect.value == Effect::Destructive && options.approval.is_none()) {
        errors.at(effect.span, text::DESTRUCTIVE);
    }
    let harmless = options.idempotent.is_some() || effect.is_some_and(|effect| effect.value == Effect::ReadOnly);
    if let Some(span) = options.eager.filter(|_| !harmless) {
        errors.at(span, text::EAGER);
    }
    let always = options.approval.as_ref().filter(|approval| matches!(approval.value, Approval::Always));
    if let (Some(span), Some(_)) = (options.eager, always) {
        errors.at(span, text::EAGER_APPROVAL);
    }
    if let Some(retries) = options.retries.as_ref().filter(|retries| retries.value > 0 && !harmless) {
        errors.at(retries.span, text::RETRIES_WRITE);
    }
    if let Some(span) = options.resumable {
        if harmless {
            errors.at(span, text::RESUMABLE_AGAIN);
        }
        if let Body::Fn(function) = &tool.body
            && !((function.is_async || function.is_stream) && tool.takes_context())
        {
            errors.at(span, text::RESUMABLE_FN);
        }
    }
}

/// An external tool is a struct that says what comes back; only it does.
fn external(tool: &Tool, errors: &mut Errors) {
    let options = &tool.options;
    match (options.external, &options.output) {
        (Some(span), _) if matches!(tool.body, Body::Fn(_)) => errors.at(span, text::EXTERNAL_FN),
        (Some(span), None) => errors.at(span, text::EXTERNAL_OUTPUT),
        (None, Some(output)) => errors.at(output.span, text::OUTPUT_HERE),
        _ => {}
    }
    if options.external.is_some() {
        let here = [
            (options.blocking, "blocking"),
            (options.eager, "eager"),
            (options.resumable, "resumable"),
            (options.retries.as_ref().map(|retries| retries.span), "retries"),
        ];
        for (span, key) in here {
            if let Some(span) = span {
                errors.at(span, text::external_run(key));
            }
        }
    }
    // Its validators run here.
    if let (Some(_), Some(state), false) = (options.external, &options.state, tool.is_asking()) {
        errors.at(state.span, text::EXTERNAL_STATE);
    }
}

/// A tool takes over from earlier versions, not from its own.
fn versions(tool: &Tool, errors: &mut Errors) {
    let Some(version) = &tool.options.version else { return };
    for own in tool.options.migrate_from.iter().filter(|from| from.value() == version.value()) {
        errors.at(own.span(), text::MIGRATE_SELF);
    }
}

/// A challenge names parameters that a person may see.
fn challenge(tool: &Tool, errors: &mut Errors) {
    let Some(challenge) = &tool.options.challenge else { return };
    let text = challenge.value();
    let inside = tool.variants().flat_map(|(_, variant)| variant.args());
    let shown = tool.args().chain(inside).filter(|arg| arg.attrs.secret.is_none());
    let known: Vec<&str> = shown.map(|arg| arg.name.as_str()).collect();
    for place in text.split('{').skip(1) {
        match place.split_once('}') {
            Some((name, _)) if known.contains(&name) => {}
            Some((name, _)) => errors.at(challenge.span(), text::place(name, &known)),
            None => errors.at(challenge.span(), text::CHALLENGE),
        }
    }
}

/// A tool that runs alone waits for all others anyway.
fn touches(tool: &Tool, errors: &mut Errors) {
    if let (Some(touches), Some(_)) = (&tool.options.touches, tool.options.sequential) {
        errors.at(touches.span, text::TOUCHES_ALONE);
    }
}

/// Options stand where they mean something.
fn placement(tool: &Tool, errors: &mut Errors) {
    if let Body::Fn(function) = &tool.body {
        if let Some(state) = &tool.options.state {
            errors.at(state.span, text::STATE_HERE);
        }
        if let Some(span) = tool.options.blocking.filter(|_| function.is_async) {
            errors.at(span, text::BLOCKING_ASYNC);
        }
    }
}

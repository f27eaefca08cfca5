//! Checks a parameter's limits and format. Its default and its examples must have its type and satisfy the limits.

use syn::{Expr, Lit, Type};

use crate::declaration::Param;
use crate::diag::{Errors, text};
use crate::syntax::{
    ecma::{Untranslatable, to_ecma},
    options::literal,
    params::{Default, Number, Range},
    types::type_argument,
};

/// Checks one parameter against every rule about limits.
pub fn check(param: &Param, errors: &mut Errors) {
    check_secret(param, errors);
    check_bounds(param, errors);
    check_pattern(param, errors);
    check_format(param, errors);
    check_literals(param, errors);
}

/// Checks that no option describes the value of a secret, because a secret has no schema.
fn check_secret(param: &Param, errors: &mut Errors) {
    if let Some(span) = param.attrs.arg.secret.filter(|_| param.attrs.describes_value()) {
        errors.at(span, text::SECRET_WITH_OPTIONS);
    }
}

/// Checks that the range and the length are not empty, and that the length has no negative or fractional bounds.
fn check_bounds(param: &Param, errors: &mut Errors) {
    for range in [&param.attrs.arg.range, &param.attrs.arg.length].into_iter().flatten() {
        if range.is_empty() {
            let text = if range.exclusive { text::RANGE_EMPTY_EXCLUSIVE } else { text::RANGE_EMPTY };
            errors.over(&range.expr, text);
        }
    }
    if let Some(range) = &param.attrs.arg.length {
        let is_count = |number: Option<Number>| number.is_none_or(|number| matches!(number, Number::Int(0..)));
        if !is_count(range.min) || !is_count(range.max) {
            errors.over(&range.expr, text::LENGTH);
        } else if range.min.is_none() && range.exclusive && matches!(range.max, Some(Number::Int(0))) {
            errors.over(&range.expr, text::RANGE_EMPTY_EXCLUSIVE);
        }
    }
}

/// Checks that the pattern is valid in the syntax of the crate `regex`, and that the schema can express it.
fn check_pattern(param: &Param, errors: &mut Errors) {
    let Some(pattern) = &param.attrs.arg.pattern else { return };
    match to_ecma(&pattern.value()) {
        Ok(_) => {}
        Err(Untranslatable::Invalid(error)) => errors.at(pattern.span(), text::invalid_regex(&error)),
        Err(Untranslatable::OnlyHere { part, instead }) => {
            errors.at(pattern.span(), text::regex_only_here(&part, instead));
        }
    }
}

/// The formats of JSON Schema.
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Checks that the format is known, because the runtime would never check an unknown one.
fn check_format(param: &Param, errors: &mut Errors) {
    if let Some(format) = &param.attrs.arg.format
        && !FORMATS.contains(&format.value().as_str())
    {
        errors.at(format.span(), text::unknown_format(&format.value(), FORMATS));
    }
}

/// Checks that a default is within the limits and, if it is a literal, has the parameter's type. Examples must be literals.
fn check_literals(param: &Param, errors: &mut Errors) {
    if let Some(Default::Value(value)) = &param.attrs.arg.default {
        if let Some(ty) = mismatched_type(&param.ty, value).filter(|_| is_literal(value)) {
            errors.over(value, text::default_type(&ty));
        } else if is_outside(param, value) {
            errors.over(value, text::DEFAULT_OUTSIDE_LIMITS);
        }
    }
    for example in &param.attrs.arg.examples {
        if !is_literal(example) {
            errors.over(example, text::EXPECTED_EXAMPLE_LITERAL);
        } else if let Some(ty) = mismatched_type(&param.ty, example) {
            errors.over(example, text::example_type(&ty));
        } else if is_outside(param, example) {
            errors.over(example, text::EXAMPLE_OUTSIDE_LIMITS);
        }
    }
}

fn is_literal(value: &Expr) -> bool {
    Number::of(value).is_some() || literal(value).is_some()
}

/// Returns the name of `ty` if it is built in and the literal `value` has another kind, such as a text for a number.
fn mismatched_type(ty: &Type, value: &Expr) -> Option<String> {
    if let Some(inner) = type_argument(ty, "Option") {
        return mismatched_type(inner, value);
    }
    let Type::Path(path) = ty else { return None };
    let name = path.path.get_ident()?.to_string();
    let is_number = Number::of(value).is_some();
    let fits = match &*name {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            matches!(Number::of(value), Some(Number::Int(_)))
        }
        "f32" | "f64" => is_number,
        "bool" => matches!(literal(value), Some(Lit::Bool(_))),
        "String" | "char" => !is_number && !matches!(literal(value), Some(Lit::Bool(_))),
        _ => true,
    };
    (!fits).then_some(name)
}

fn is_outside(param: &Param, value: &Expr) -> bool {
    let out = |range: &Option<Range>, number: f64| range.as_ref().is_some_and(|range| !range.contains(number));
    if let Some(number) = Number::of(value) {
        return out(&param.attrs.arg.range, number.as_f64());
    }
    match text_of(value) {
        #[allow(clippy::cast_precision_loss, reason = "no text in source code is that long")]
        Some(text) => out(&param.attrs.arg.length, text.chars().count() as f64),
        None => false,
    }
}

/// Returns the text in `"…"`, `"…".into()`, `"…".to_owned()`, `String::from("…")` and the like.
fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::MethodCall(call) if call.args.is_empty() => text_of(&call.receiver),
        Expr::Call(call) if call.args.len() == 1 => text_of(call.args.first()?),
        _ => match literal(value)? {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
    }
}

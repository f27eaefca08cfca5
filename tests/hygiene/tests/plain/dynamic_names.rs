//! Dynamic parameters with any name, also with names that expansions and their contexts use.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![no_implicit_prelude]

use ::std::option::Option::{self, None, Some};
use ::tool_runtime::{Rejection, Validation, tool, toolset};

mod rules {
    use ::std::option::Option;
    use ::tool_runtime::Validation;

    pub fn any<T, C>(value: Option<T>, _: C) -> Validation<T> {
        value.map_or_else(|| Validation::reject("missing"), Validation::accept)
    }
}

/// Takes everything.
#[tool(check = whole, allow(undescribed))]
pub fn everything(
    #[dynamic(validate = rules::any)] value: u8,
    #[dynamic(validate = rules::any, requires(value))] known: u8,
    #[dynamic(validate = rules::any, after(known))] call: u8,
    #[dynamic(validate = rules::any, hints(call))] given: u8,
    #[dynamic(validate = rules::any, requires(r#type))] node: u8,
    #[dynamic(validate = typed, requires(call, states, __call, __state), hints(r#in))] r#type: u8,
    #[dynamic(validate = rules::any)] states: u8,
    #[dynamic(validate = derives, derives(derived: u16))] input: u8,
    __call: u8,
    r#in: u8,
    __state: u8,
    #[state] state: &u8,
    #[derived] derived: u16,
) -> u8 {
    ::std::assert_eq!(derived, 1);
    value + known + call + given + node + r#type + states + input + __call + r#in + __state + state
}

fn typed(value: Option<u8>, known: EverythingType<'_>) -> Validation<u8> {
    let sum = known.call + known.states + known.__call + known.__state + known.state;
    let hint: Option<&u8> = known.r#in;
    match (value, hint) {
        (Some(value), Some(_)) => Validation::accept(value + sum),
        (_, None) | (None, _) => Validation::reject(known.call().call_id()),
    }
}

async fn derives(value: Option<u8>, _: EverythingInput<'_>) -> Validation<u8, u16> {
    value.map_or_else(|| Validation::reject("missing"), |value| Validation::accept(value).derive(1))
}

async fn whole(input: &everything, known: EverythingCheck<'_>) -> ::std::result::Result<(), Rejection> {
    let _ = (input.r#type, known.state, known.call());
    ::std::result::Result::Ok(())
}

#[::core::prelude::v1::test]
fn works() {
    let tools = toolset!(3_u8; everything);
    ::std::assert_eq!(tools.len(), 1);
}

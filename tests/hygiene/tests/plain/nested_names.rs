//! Fields of nested inputs and variants with any name, also with names that expansions use. Other items with such names keep
//! their meaning.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![no_implicit_prelude]
#![allow(dead_code, non_upper_case_globals)]

use ::std::option::Option;
use ::tool_runtime::{DynamicInput, Execute, Validation, tool, toolset};

pub const name: u8 = 1;
pub const given: u8 = 2;
pub const known: u8 = 3;
pub const states: u8 = 4;
pub const all: u8 = 5;
pub const work: u8 = 6;
pub const text: u8 = 7;
pub const variant: u8 = 8;
pub const input: u8 = 9;

fn any<T: ::std::default::Default, C>(value: Option<T>, _: C) -> Validation<T> {
    Validation::accept(value.unwrap_or_default())
}

#[derive(DynamicInput)]
#[dynamic_input(state = u8, allow(undescribed))]
pub struct Inner {
    #[dynamic(validate = any)]
    pub name: u8,
    #[dynamic(validate = any, requires(name))]
    pub known: u8,
    #[dynamic(validate = any, after(known))]
    pub r#type: u8,
    pub states: u8,
    pub slot0: u8,
    pub state: u8,
    pub call: u8,
}

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
pub struct Outer {
    #[dynamic(nested)]
    pub first: Inner,
    #[dynamic(nested, requires(first))]
    pub second: Inner,
    #[dynamic(validate = any, requires(second))]
    pub given: u8,
}

#[derive(DynamicInput)]
pub struct Empty {}

/// Takes everything.
#[tool(allow(undescribed))]
pub fn everything(
    #[dynamic(nested)] journey: Outer,
    #[dynamic(nested, after(journey))] r#in: Inner,
    #[dynamic(nested)] empty: Empty,
    #[state] state: &u8,
) -> u8 {
    let Empty {} = empty;
    journey.given + journey.first.name + journey.second.known + r#in.r#type + state
}

/// Takes one of these.
#[tool(state = u8, tag = "text", allow(undescribed))]
pub enum Variants {
    Variant {
        #[dynamic(validate = any)]
        variant: u8,
        #[dynamic(nested, after(variant))]
        work: Inner,
        __tag: u8,
    },
    Some {
        #[dynamic(nested)]
        work: Outer,
    },
    None,
}

impl ::tool_runtime::ExecuteWith<u8> for Variants {
    type Output = u8;
    type Error = ::std::convert::Infallible;

    async fn execute(
        self,
        state: &u8,
        _: &::tool_runtime::Context,
    ) -> ::std::result::Result<u8, ::std::convert::Infallible> {
        ::std::result::Result::Ok(match self {
            Self::Variant { variant: one, work: inner, __tag } => one + inner.name + __tag + state,
            Self::Some { work: outer } => outer.given,
            Self::None => name + given + known + states + all + work + text + variant + input,
        })
    }
}

/// Takes a variant, and needs no state.
#[tool(allow(undescribed))]
enum Plain {
    Only { value: u8 },
}

impl Execute for Plain {
    type Output = u8;
    type Error = ::std::convert::Infallible;

    async fn execute(self, _: &::tool_runtime::Context) -> ::std::result::Result<u8, ::std::convert::Infallible> {
        let Self::Only { value } = self;
        ::std::result::Result::Ok(value)
    }
}

#[::core::prelude::v1::test]
fn works() {
    let tools = toolset!(3_u8; everything, Variants, Plain);
    ::std::assert_eq!(tools.len(), 3);
}

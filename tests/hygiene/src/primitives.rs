//! Tools beside types and modules with the names of primitives, and tools with these names.
#![allow(dead_code, non_camel_case_types, clippy::trivially_copy_pass_by_ref, reason = "only their names matter")]
#![allow(
    missing_docs,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    reason = "as above"
)]

use ::core::primitive as p;
use tool_runtime::{
    Calls, Context, DynamicInput, Execute, Provide, Text, TypedCall, Validation, tool, tool::TouchedResources, tools,
    toolset,
};

macro_rules! nothing {
    ($($name:ident)*) => {
        $(pub struct $name;)*
    };
}

nothing!(bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 Option Result Vec Box String Some None Ok
    Err Arc TypeId);

mod core {}
mod std {}
mod alloc {}

/// A tool with the name of a primitive, whose type hides the primitive below.
#[tool(effect = read_only, allow(endless), timeout = "3s", touches = |_| TouchedResources::new(), approval = when(|input| input.times > 3))]
fn str(
    /// The number of times.
    #[arg(default = 3, range(1..=5), example = 4)]
    times: p::u8,
    /// The text.
    #[arg(length(1..=5), pattern = "^a")]
    text: ::std::string::String,
    #[arg(secret)] key: p::u8,
) -> p::u8 {
    times + key + p::u8::from(text.is_empty())
}

/// Asks.
#[tool(external, output = p::u8)]
struct Ask {
    /// The number of times.
    times: p::u8,
}

/// One of these.
#[tool]
enum Either {
    /// One.
    One {
        /// The number of times.
        #[dynamic(validate = any)]
        times: p::u8,
    },
}

fn any(value: ::std::option::Option<p::u8>, _: EitherOneTimes<'_>) -> Validation<p::u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

impl Execute for Either {
    type Output = p::u8;
    type Error = ::std::convert::Infallible;

    async fn execute(self, _: &Context) -> ::std::result::Result<p::u8, Self::Error> {
        ::std::result::Result::Ok(match self {
            Self::One { times } => times,
        })
    }
}

/// Nested.
#[derive(DynamicInput)]
pub struct Inner {
    /// The number of times.
    #[dynamic(validate = inner)]
    pub times: p::u8,
}

fn inner(value: ::std::option::Option<p::u8>, _: InnerTimes<'_>) -> Validation<p::u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Has a nested parameter.
#[tool]
fn take(
    /// It.
    #[dynamic(nested)]
    inner: Inner,
    #[state] shop: &Shop,
    #[context] cx: &Context,
) -> p::u8 {
    let _ = (shop, cx);
    inner.times
}

pub struct Shop;

#[tools]
impl Shop {
    /// Looks.
    #[tool]
    fn look(
        &self,
        /// The number of times.
        times: p::u8,
    ) -> Text {
        Text(::std::format!("{times}"))
    }
}

#[derive(Provide)]
pub struct State {
    shop: Shop,
}

#[derive(Calls)]
enum AppCall {
    Str(TypedCall<str>),
    Take(TypedCall<Either>),
}

/// Returns all tools.
pub fn all() -> ::tool_runtime::Toolset {
    let methods = Shop.toolset();
    ::core::result::Result::unwrap_or_default(toolset!(State { shop: Shop }; str, Ask, Either, take).merge(methods))
}

::tool_runtime::lint_test!(all());

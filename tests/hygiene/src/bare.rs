//! Declarations in a module without the prelude, which expansions do not need.
#![no_implicit_prelude]

use ::std::{convert::Infallible, fmt, option::Option, result::Result, string::String};
use ::tool_runtime::{
    Calls, Context, DynamicInput, Execute, Failure, Provide, Toolset, TypedCall, Validation, tool, tools, toolset,
};

/// A shop.
#[derive(Debug)]
pub struct Shop {
    name: String,
}

/// The application.
#[derive(Debug, Provide)]
pub struct App {
    shop: Shop,
    count: u8,
}

/// Names the shop.
#[tool(approval = when(|input| input.loud), effect = destructive, retries = 1, idempotent, crate = ::tool_runtime)]
async fn name(
    /// Set if the greeting is loud.
    loud: bool,
    /// The greeting.
    #[arg(default = <String as ::core::convert::From<&str>>::from("a@b.no"), length(..=9), pattern = "^[a-z@.]*$", format = "email")]
    greeting: String,
    #[state] shop: &Shop,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    ::core::mem::drop((loud, greeting, cx));
    Result::Ok(::core::clone::Clone::clone(&shop.name))
}

/// Counts.
#[tool]
const fn count(#[state] count: &u8) -> u8 {
    *count
}

/// Adds.
#[tool]
struct Add {
    /// A number.
    a: u8,
    /// Another.
    #[arg(default = 1)]
    b: u8,
}

impl Execute for Add {
    type Output = u8;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Infallible> {
        Result::Ok(self.a.wrapping_add(self.b))
    }
}

/// One of two.
#[tool]
enum Either {
    /// This.
    This {
        /// So much.
        #[dynamic(validate = any)]
        much: u8,
    },
    /// That.
    That,
}

impl Execute for Either {
    type Output = u8;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Infallible> {
        Result::Ok(match self {
            Self::This { much } => much,
            Self::That => 0,
        })
    }
}

/// Nested.
#[derive(Clone, Copy, Debug, DynamicInput)]
#[dynamic_input(state = Shop)]
pub struct Inner {
    /// So much.
    #[dynamic(validate = any)]
    pub much: u8,
}

fn any<C>(value: Option<u8>, _: C) -> Validation<u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Has a nested parameter.
#[tool]
fn take(
    /// It.
    #[dynamic(nested)]
    inner: Inner,
) -> u8 {
    inner.much
}

#[tools]
impl Shop {
    /// Look.
    #[tool]
    const fn look(&self) -> u8 {
        3
    }
}

impl fmt::Display for Shop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

/// Calls.
#[derive(Calls)]
enum AppCall {
    Name(TypedCall<name>),
    Add(TypedCall<Add>),
}

/// Reads a call. Returns a number of its input.
#[must_use]
pub fn called(call: &::tool_runtime::message::ToolCall) -> u8 {
    match AppCall::read(call) {
        Result::Ok(AppCall::Name(call)) => <u8 as ::core::convert::From<bool>>::from(call.input.loud),
        Result::Ok(AppCall::Add(call)) => call.input.a,
        Result::Err(_) => 0,
    }
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    let shop = || Shop { name: String::new() };
    let methods = shop().toolset();
    let app = App { shop: shop(), count: 3 };
    toolset!(app; name, count, Add, Either, take).merge(methods).unwrap_or_default()
}

::tool_runtime::lint_test!(all());

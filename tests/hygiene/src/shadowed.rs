//! Tools beside types, traits, macros and modules with the names of the standard library.
#![allow(dead_code, unused_macros, reason = "only their names matter")]
#![allow(
    missing_docs,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    reason = "as above"
)]

use tool_runtime::{
    Calls, Context, DynamicInput, Execute, ExecuteWith, Failure, Provide, Text, TypedCall, Validation, tool, tools,
    toolset,
};

macro_rules! nothing {
    ($($name:ident)*) => {
        $(pub struct $name;)*
    };
}

nothing!(Option String Vec Box Some None Ok Err Rc Arc HashMap Future Pin BoxFuture Value Any OnceLock Cow PhantomData
    Input Output Tool Toolset WithState Stateless Binding Def Field TypeWitness BuiltInType Kind Work AcceptedCall
    DecodeError Values Schema Name Options Union);

pub trait From {}
pub trait Into {}
pub trait Iterator {}
pub trait IntoIterator {}
pub trait Clone {}
pub trait Copy {}
pub trait Send {}
pub trait Sync {}
pub trait Sized {}
pub trait Drop {}
pub trait Fn {}
pub trait FnOnce {}
pub trait AsRef {}
pub trait ToString {}
pub trait ToOwned {}
pub trait TryFrom {}
pub trait Extend {}

macro_rules! vec {
    () => {};
}
macro_rules! format {
    () => {};
}
macro_rules! panic {
    () => {};
}
macro_rules! assert {
    () => {};
}
macro_rules! unreachable {
    () => {};
}
macro_rules! unimplemented {
    () => {};
}
macro_rules! concat {
    () => {};
}
macro_rules! matches {
    () => {};
}

mod core {}
mod std {}
mod alloc {}
mod tool_runtime_ {}
mod serde {}
mod schemars {}
mod futures {}

type Result = u8;
type Infallible = ::std::convert::Infallible;

/// Gives a result.
#[tool(timeout = "3s", allow(endless), title = "Give", ui(icon = "x"), examples = ["{}"], meta(a = 1), approval = when(|input| input.more))]
const fn give(
    /// The amount.
    #[arg(default = 3, range(0..=10), example = 4)]
    amount: u8,
    /// More.
    #[arg(default)]
    more: bool,
    #[arg(secret)] key: u8,
) -> Result {
    amount + key + more as u8
}

/// Asks.
#[tool(external, output = u8)]
struct Ask {
    /// The number of times.
    times: u8,
}

/// Works.
#[tool(state = Input)]
struct WorkHard {
    /// The number of times.
    #[arg(range(1..))]
    times: u8,
}

impl ExecuteWith<Input> for WorkHard {
    type Output = Text;
    type Error = Failure;

    async fn execute(self, _: &Input, _: &Context) -> ::core::result::Result<Text, Failure> {
        ::core::result::Result::Err(Failure::new("no"))
    }
}

/// One of these.
#[tool]
enum Either {
    /// One.
    Some {
        /// The number of times.
        times: u8,
    },
    /// None.
    None,
}

impl Execute for Either {
    type Output = u8;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> ::core::result::Result<u8, Infallible> {
        ::core::result::Result::Ok(match self {
            Self::Some { times } => times,
            Self::None => 0,
        })
    }
}

/// Nested.
#[derive(DynamicInput)]
pub struct Inner {
    /// The number of times.
    #[dynamic(validate = any)]
    pub times: u8,
}

fn any(value: ::core::option::Option<u8>, _: InnerTimes<'_>) -> Validation<u8> {
    match value {
        ::core::option::Option::Some(value) => Validation::accept(value),
        ::core::option::Option::None => Validation::reject("missing"),
    }
}

/// Has a nested parameter.
#[tool]
fn take(
    /// It.
    #[dynamic(nested)]
    inner: Inner,
    /// More of it.
    #[dynamic(nested)]
    #[arg(default, length(..=3))]
    more: ::std::vec::Vec<Inner>,
    #[state] input: &Input,
    #[context] cx: &Context,
) -> u8 {
    let _ = (input, cx);
    more.iter().fold(inner.times, |sum, inner| sum + inner.times)
}

#[tools]
impl Input {
    /// Looks.
    #[tool]
    fn look(&self) -> Text {
        Text(::std::string::String::new())
    }
}

#[derive(Provide)]
pub struct State {
    input: Input,
}

#[derive(Calls)]
enum AppCall {
    Give(TypedCall<give>),
    Take(TypedCall<Either>),
}

/// Returns all tools.
pub fn all() -> ::tool_runtime::Toolset {
    let methods = Input.toolset();
    ::core::result::Result::unwrap_or_default(
        toolset!(State { input: Input }; give, Ask, WorkHard, Either, take).merge(methods),
    )
}

::tool_runtime::lint_test!(all());

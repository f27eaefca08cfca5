//! Nothing of the prelude is needed.
#![no_implicit_prelude]
#![deny(warnings)]
#![allow(deprecated)]
#![forbid(unsafe_code)]

use ::tool_runtime::{Call, Calls, Context, Execute, Failure, Provide, tool, tools, toolset};

struct Shop {
    name: ::std::string::String,
}

#[derive(Provide)]
struct App {
    shop: Shop,
    count: u8,
}

/// Names the shop.
#[tool(approval = when(|input| input.loud), effect = destructive, retries = 1, idempotent)]
async fn name(
    loud: bool,
    #[arg(default, length(..=9), pattern = "a", format = "email")] greeting: ::std::string::String,
    #[state] shop: &Shop,
    #[context] cx: &Context,
) -> ::core::result::Result<::std::string::String, Failure> {
    let _ = (loud, greeting, cx);
    ::core::result::Result::Ok(::core::clone::Clone::clone(&shop.name))
}

/// Counts.
#[tool]
fn count(#[state] count: &u8) -> u8 {
    *count
}

/// Adds.
#[tool]
struct Add {
    a: u8,
    #[arg(default = 1)]
    b: u8,
}

impl Execute for Add {
    type Output = u8;
    type Error = Failure;

    async fn execute(self, _: &Context) -> ::core::result::Result<u8, Failure> {
        ::core::result::Result::Ok(self.a + self.b)
    }
}

#[tools]
impl Shop {
    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        3
    }

    /// Look again.
    #[tool]
    fn look_again(&self) -> u8 {
        3
    }
}

#[derive(Calls)]
enum AppCall {
    Name(Call<name>),
    Add(Call<Add>),
}

fn main() {
    let app = App { shop: Shop { name: ::std::string::String::new() }, count: 3 };
    let _ = toolset!(app; name, count, Add);
    let _ = Shop { name: ::std::string::String::new() }.toolset();
    let call = ::tool_runtime::message::ToolCall {
        id: ::std::string::String::new(),
        name: ::std::string::String::new(),
        arguments: ::std::string::String::new(),
    };
    match AppCall::read(&call) {
        ::core::result::Result::Ok(AppCall::Name(call)) => ::core::mem::drop(call),
        ::core::result::Result::Ok(AppCall::Add(call)) => ::core::mem::drop(call),
        ::core::result::Result::Err(error) => ::core::mem::drop(error),
    }
}

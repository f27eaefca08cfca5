//! The runtime under another name, or through another crate.
#![deny(warnings)]
#![forbid(unsafe_code)]

mod framework {
    pub mod agents {
        pub use tool_runtime as runtime;
    }
}

use framework::agents::runtime::{
    self, Calls, Context, Execute, Failure, Provide, TypedCall, message::ToolCall, tool, tools,
};

struct Shop;

#[derive(Provide)]
#[provide(crate = runtime)]
struct App {
    shop: Shop,
}

/// Look.
#[tool(crate = crate::other_crate_name::framework::agents::runtime, allow(undescribed))]
fn look(#[arg(default = 3, range(1..))] value: u8, #[state] shop: &Shop) -> u8 {
    let _ = shop;
    value
}

/// Add.
#[tool(crate = runtime, allow(undescribed))]
struct Add {
    a: u8,
}

impl Execute for Add {
    type Output = u8;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<u8, Failure> {
        Ok(self.a)
    }
}

#[tools(crate = runtime)]
impl Shop {
    /// Count.
    #[tool]
    fn count(&self) -> u8 {
        3
    }
}

#[derive(Calls)]
#[calls(crate = runtime)]
enum AppCall {
    Look(TypedCall<look>),
    Add(TypedCall<Add>),
}

#[test]
fn works() {
    let tools = runtime::toolset!(App { shop: Shop }; look, Add);
    let _ = tools.merge(Shop.toolset());
    let call = ToolCall { id: String::new(), name: "Add".to_owned(), arguments: r#"{"a":3}"#.to_owned() };
    match AppCall::read(&call) {
        Ok(AppCall::Add(call)) => assert_eq!(call.input.a, 3),
        Ok(AppCall::Look(call)) => assert_eq!(call.input.value, 3),
        Err(error) => panic!("{error}"),
    }
}

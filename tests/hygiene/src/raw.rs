//! Tools whose names and parameters are keywords.

use tool_runtime::{Calls, Context, Execute, Toolset, TypedCall, tool, tools, toolset};

/// A keyword as a name.
#[tool]
fn r#match(
    /// The place.
    r#in: String,
    /// The number.
    r#mut: u8,
) -> String {
    format!("{in}{mut}", r#in = r#in, r#mut = r#mut)
}

/// A module.
pub mod r#mod {
    use tool_runtime::tool;

    /// In it.
    #[tool]
    pub const fn r#loop() {}
}

/// A type.
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
#[tool]
struct r#type {
    /// A field.
    r#use: u8,
}

impl Execute for r#type {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.r#use)
    }
}

/// Methods.
#[derive(Clone, Copy, Debug)]
pub struct Shop;

#[tools]
impl Shop {
    /// A method.
    #[tool]
    pub const fn r#while(&self) -> u8 {
        3
    }
}

/// Calls.
#[derive(Calls)]
enum AppCall {
    /// A call.
    Match(TypedCall<r#match>),
    /// Another.
    Type(TypedCall<r#type>),
}

impl std::fmt::Debug for AppCall {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.parts().1)
    }
}

/// Returns the name of the called tool.
#[must_use]
pub fn called(call: &tool_runtime::message::ToolCall) -> &'static str {
    AppCall::read(call).map_or("", |call| call.parts().1)
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    toolset!(r#match, r#mod::r#loop, r#type).merge(Shop.toolset()).unwrap_or_default()
}

tool_runtime::lint_test!(all());

#[cfg(test)]
mod tests {
    use tool_runtime::Calls as _;

    #[test]
    fn names_have_no_raw_prefix() {
        assert_eq!(super::all().names().collect::<Vec<_>>(), ["match", "loop", "type", "while"]);
        assert_eq!(super::AppCall::NAMES, ["match", "type"]);
    }
}

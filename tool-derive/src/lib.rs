//! The macros of `tool-runtime`. Use them through that crate.

#![forbid(unsafe_code)]

mod check;
mod declaration;
mod diag;
mod entry;
mod expand;
mod print;
mod resolve;
mod syntax;
#[cfg(test)]
mod tests;

use print::show;
use proc_macro::TokenStream;

#[doc = include_str!("docs/tool.md")]
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    let item = item.into();
    show("#[tool]", print::item_name(&item), entry::tool(&args.into(), item)).into()
}

#[doc = include_str!("docs/tools.md")]
#[proc_macro_attribute]
pub fn tools(args: TokenStream, item: TokenStream) -> TokenStream {
    let item = item.into();
    show("#[tools]", print::item_name(&item), entry::toolset_impl(&args.into(), item)).into()
}

/// Combines tools into a toolset. Users call `tool_runtime::toolset!`, which passes the path of its own crate to this macro.
#[proc_macro]
pub fn toolset(tokens: TokenStream) -> TokenStream {
    entry::toolset(tokens.into()).into()
}

#[doc = include_str!("docs/provide.md")]
#[proc_macro_derive(Provide, attributes(provide))]
pub fn provide(item: TokenStream) -> TokenStream {
    let item = item.into();
    show("#[derive(Provide)]", print::item_name(&item), entry::provide(item)).into()
}

#[doc = include_str!("docs/output.md")]
#[proc_macro_derive(ToolOutput, attributes(serde))]
pub fn output(item: TokenStream) -> TokenStream {
    entry::output(item.into()).into()
}

#[doc = include_str!("docs/input.md")]
#[proc_macro_derive(DynamicInput, attributes(dynamic_input, dynamic, arg))]
pub fn dynamic_input(item: TokenStream) -> TokenStream {
    let item = item.into();
    show("#[derive(DynamicInput)]", print::item_name(&item), entry::dynamic_input(item)).into()
}

#[doc = include_str!("docs/calls.md")]
#[proc_macro_derive(Calls, attributes(calls))]
pub fn calls(item: TokenStream) -> TokenStream {
    let item = item.into();
    show("#[derive(Calls)]", print::item_name(&item), entry::calls(item)).into()
}

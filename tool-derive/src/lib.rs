//! The macros of `tool-runtime`. Use them through that crate.

#![forbid(unsafe_code)]

mod check;
mod diag;
mod entry;
mod expand;
mod model;
mod syntax;

use proc_macro::TokenStream;

/// Declares a tool.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::tool(args.into(), item.into()).into()
}

/// Declares the methods of a type as tools.
#[proc_macro_attribute]
pub fn tools(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::toolset_impl(args.into(), item.into()).into()
}

/// Puts tools together.
#[proc_macro]
pub fn toolset(tokens: TokenStream) -> TokenStream {
    entry::toolset_list(tokens.into()).into()
}

/// Lets a struct provide each of its fields as state.
#[proc_macro_derive(Provide)]
pub fn provide(item: TokenStream) -> TokenStream {
    entry::derive(item.into(), expand::provide::provide).into()
}

/// Makes an enum the typed calls of a toolset.
#[proc_macro_derive(Calls)]
pub fn calls(item: TokenStream) -> TokenStream {
    entry::derive(item.into(), expand::provide::calls).into()
}

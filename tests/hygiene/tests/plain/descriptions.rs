//! Descriptions from every kind of doc comment.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tool_runtime::{Toolset, tool, toolset};

const DESCRIPTION: &str = "From a constant.";

#[doc = include_str!("descriptions.txt")]
#[tool]
fn included() {}

#[doc = concat!("One ", "and two.")]
#[tool]
fn joined(#[doc = concat!("A ", "parameter.")] value: u8) {
    let _ = value;
}

/// Before.
#[doc = include_str!("descriptions.txt")]
#[tool]
fn mixed() {}

/** A block
 * of lines.
 */
#[tool]
fn block(
    /** A block, too. */
    value: u8,
) {
    let _ = value;
}

#[tool(description = DESCRIPTION)]
fn constant() {}

/// For people.
#[tool(description = "For the model.")]
fn given() {}

fn of(tools: &Toolset, name: &str) -> String {
    tools.get(name).map(|tool| tool.spec().description.clone()).unwrap_or_default()
}

#[test]
fn works() {
    let tools = toolset!(included, joined, mixed, block, constant, given);
    assert_eq!(of(&tools, "included"), "From a file.\n");
    assert_eq!(of(&tools, "joined"), "One and two.");
    assert_eq!(of(&tools, "mixed"), "Before.\nFrom a file.\n");
    assert!(of(&tools, "block").starts_with("A block"));
    assert_eq!(of(&tools, "constant"), "From a constant.");
    assert_eq!(of(&tools, "given"), "For the model.");
}

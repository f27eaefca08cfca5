//! Attributes on an item stay, and have their effect.
#![deny(warnings)]
#![allow(clippy::many_single_char_names, clippy::let_underscore_future, reason = "that is what they are for")]
#![forbid(unsafe_code)]

use tool_runtime::{Tool, tool, tools, toolset};

/// Is deprecated.
#[tool(allow(undescribed))]
#[deprecated = "use another"]
async fn old(value: u8) -> u8 {
    value
}

/// Must be used.
#[tool(allow(undescribed))]
#[must_use]
#[inline]
#[allow(clippy::unused_async)]
async fn must(value: u8) -> u8 {
    value
}

#[cfg(any())]
/// Is not there.
#[tool(allow(undescribed))]
fn there(value: Missing) -> Missing {}

/// Is there.
#[tool(allow(undescribed))]
#[cfg(not(any()))]
fn there(value: u8) -> u8 {
    value
}

/// Has many parameters, one of which is not used.
#[tool(allow(undescribed))]
#[allow(unused_variables)]
fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8) -> u8 {
    a
}

struct Shop;

#[tools]
impl Shop {
    #[cfg(any())]
    /// Is not there.
    #[tool(allow(undescribed))]
    fn look(&self, value: Missing) -> Missing {}

    #[cfg(not(any()))]
    /// Is there.
    #[tool(allow(undescribed))]
    fn look(&self, value: u8) -> u8 {
        value
    }

    /// Is there.
    #[cfg_attr(not(any()), must_use)]
    #[tool]
    fn count(&self) -> u8 {
        3
    }

    #[cfg(any())]
    /// Is not there.
    #[tool]
    fn last(&self) {}
}

/// A struct with attributes.
#[tool(external, output = bool)]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
struct Ask {
    /// The item.
    #[allow(dead_code)]
    what: String,
}

#[allow(deprecated)]
#[test]
fn works() {
    drop(old(3));
    let _ = must(3);
    assert_eq!(there(many(1, 2, 3, 4, 5, 6, 7, 8, 9)), 1);
    let _ = toolset!(old, must, there, many, Ask);
    assert_eq!(Shop.toolset().names().collect::<Vec<_>>(), ["look", "count"]);
    assert_eq!(Ask::NAME, "Ask");
}

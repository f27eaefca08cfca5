//! Tools with descriptions from every kind of doc comment, and with parameters that depend on the build.

use tool_runtime::{Toolset, tool, toolset};

#[doc = include_str!("documented.txt")]
#[tool]
const fn included() {}

#[doc = concat!("One ", "and two.")]
#[tool]
const fn joined(#[doc = include_str!("documented.txt")] value: u8) -> u8 {
    value
}

/** A block
 * of lines.
 */
#[tool]
const fn block(
    /** A block, too. */
    value: u8,
) -> u8 {
    value
}

/// Has parameters that depend on the build.
#[tool]
fn built(
    /// Always.
    always: u8,
    /// Never.
    #[cfg(any())]
    never: Missing,
    /// In debug builds.
    #[cfg(debug_assertions)]
    #[arg(default = 2)]
    debug: u8,
    /// In all others.
    #[cfg(not(debug_assertions))]
    #[arg(default = 3)]
    release: u8,
    /// Limited in debug builds.
    #[cfg_attr(debug_assertions, arg(range(0..=9)))]
    limited: u8,
) -> u8 {
    #[cfg(debug_assertions)]
    let other = debug;
    #[cfg(not(debug_assertions))]
    let other = release;
    always.wrapping_add(other).wrapping_add(limited)
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    toolset!(included, joined, block, built)
}

tool_runtime::lint_test!(all());

#[cfg(test)]
mod tests {
    #[test]
    fn descriptions_of_every_kind_are_read() {
        let tools = super::all();
        let joined = tools.get("joined").expect("the tool is in the set").spec();
        assert_eq!(joined.description, "One and two.");
        assert_eq!(joined.input.neutral()["properties"]["value"]["description"], "From a file.\n");
        let built = &tools.get("built").expect("the tool is in the set").spec().input.neutral()["properties"];
        let names: Vec<&String> = built.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        assert_eq!(names, ["always", if cfg!(debug_assertions) { "debug" } else { "release" }, "limited"]);
    }
}

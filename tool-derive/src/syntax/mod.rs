//! The parsers. They check the grammar of a declaration; `check` applies the rules about its meaning.

pub mod attribute;
pub mod cfg;
pub mod ecma;
pub mod grammar;
pub mod item;
pub mod json;
pub mod options;
pub mod params;
pub mod serde_attrs;
pub mod toolset_input;
pub mod types;

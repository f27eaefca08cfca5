//! The parsers. They check the grammar of a declaration; `check` applies the rules about its meaning.

pub mod attribute;
pub mod grammar;
pub mod item;
pub mod list;
pub mod options;
pub mod params;
pub mod serde;
pub mod types;

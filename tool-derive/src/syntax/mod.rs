//! The parsers: they read what the user wrote, without judging it.

pub mod attribute;
pub mod grammar;
pub mod item;
pub mod list;
pub mod options;
pub mod params;
pub mod serde;
pub mod types;

//! Reads what the user wrote, without judging it.

pub(crate) mod attribute;
pub(crate) mod grammar;
pub(crate) mod item;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod params;
pub(crate) mod serde;
pub(crate) mod types;

//! Reads what the user wrote, without judging it.

pub(crate) mod attribute;
pub(crate) mod borrow;
pub(crate) mod cfg;
pub(crate) mod doc;
pub(crate) mod dynamic;
pub(crate) mod grammar;
pub(crate) mod item;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod params;
pub(crate) mod range;
pub(crate) mod rename;
pub(crate) mod serde;
pub(crate) mod stream;
pub(crate) mod values;

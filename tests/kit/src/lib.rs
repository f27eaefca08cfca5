//! Shared helpers for the tests of several packages.

#![allow(
    clippy::missing_panics_doc,
    clippy::new_without_default,
    missing_debug_implementations,
    reason = "only tests use it, and each panic fails a test"
)]

pub mod agreement;
mod all;
#[cfg(feature = "stores")]
pub mod black_hole;
pub mod histories;
pub mod list_rules;
pub mod memory;
pub mod mutate;
pub mod provider_rules;
#[cfg(feature = "stores")]
pub mod stores;
pub mod stream_rules;
pub mod streams;
mod time;
#[cfg(feature = "server")]
pub mod types;
mod values;

pub use all::AllAndSome;
pub use time::{assert_idle, within, within_blocking};
pub use values::every_kind;

/// Tests a toolset: its decoder against its schemas, and its TypeScript types against `tests/clients/types/generated`.
#[cfg(feature = "server")]
#[macro_export]
macro_rules! toolset_tests {
    ($name:literal, $tools:expr) => {
        mod toolset_tests {
            use super::*;

            #[test]
            fn decoder_and_schema_accept_the_same() {
                $crate::agreement::check(&$tools, 2000);
            }

            #[test]
            fn types_are_current() {
                $crate::types::check($name, &$tools);
            }
        }
    };
}

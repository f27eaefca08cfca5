#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![allow(unexpected_cfgs, reason = "cargo-fuzz sets `fuzzing`")]

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod convert;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sealed")]
pub mod sealed;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(all(fuzzing, feature = "postgres"))]
pub use postgres::{Received, receive_notifications};
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteOptions, SqliteStore};

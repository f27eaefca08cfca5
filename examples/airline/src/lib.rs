//! The desk of an airline: data, tools, and the rules of the business as validators. [`replay`] runs recorded calls.
//!
//! Start with `book`: each parameter has a validator, and each validator judges one thing. The rules that several tools share are
//! plain functions in `rules` and `journeys`. They know nothing of tools, and return problems as texts.
#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_panics_doc, reason = "a program, not a library for others")]

pub mod book;
pub mod cancel;
pub mod change;
pub mod data;
mod journeys;
mod look_up;
pub mod replay;
mod rules;
mod shared;

use std::sync::Arc;

use tool_runtime::{Toolset, toolset};

use book::book_flights;
use cancel::{cancel_booking, compensate};
use change::{add_bags, change_flights, change_passengers};
use data::Desk;
use look_up::{look_up_booking, look_up_customer, search_flights};

/// Returns the tools of a desk.
pub fn tools(desk: Arc<Desk>) -> Toolset {
    toolset!(
        desk;
        search_flights, look_up_customer, look_up_booking, book_flights, change_flights, add_bags, change_passengers,
        cancel_booking, compensate
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_new_desk() -> Toolset {
        tools(Arc::new(Desk::open().unwrap()))
    }

    tool_runtime::lint_test!(of_new_desk());

    #[test]
    fn types_are_current() {
        tool_test_kit::types::check("airline", &of_new_desk());
    }
}

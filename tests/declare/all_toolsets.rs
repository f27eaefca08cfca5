//! Tests of the toolsets of tests and fixtures: decoder and schema agree, and the generated types are current.
//!
//! `tool_test_kit::toolset_tests` tests the examples' own toolsets, beside their declarations.

use std::{sync::Arc, time::Duration};

use tool_runtime::{Toolset, toolset};
use tool_test_fixtures::{
    censorship::{Library, search},
    consensus::{self, Knowledge, Meeting, Person, Seat},
};

use crate::{agreement, many_parameters};

pub(crate) fn toolsets() -> [(&'static str, Toolset); 4] {
    let seat = Seat::new(Person::Bob, Knowledge::default(), Arc::new(Meeting::default()), Duration::ZERO);
    [
        ("kinds", agreement::tools()),
        ("wide", many_parameters::tools()),
        ("censorship", toolset!(Library::default(); search)),
        ("consensus", consensus::tools(Arc::new(seat))),
    ]
}

#[test]
fn decoder_and_schema_accept_the_same() {
    for (_, tools) in toolsets() {
        tool_test_kit::agreement::check(&tools, 4000);
    }
}

#[test]
fn types_are_current() {
    for (name, tools) in toolsets() {
        tool_test_kit::types::check(name, &tools);
    }
}

//! The cost of reading and checking an order's arguments, against reading the same types without a check.
//!
//! The order resembles the one for which the targets were set (7,700 instructions for the typed parse). It has texts, numbers and
//! a list of items, with a pattern, a range and two lengths to check.

use std::hint::black_box;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool_runtime::{Context, Tool, schema::CompiledSchema, tool};

use crate::{case::Case, count, memory::allocations, report::Report};

const TEXT: &str = r#"{"customer":"yusuf_rossi_9620","address":"101 Elm Street, Springfield","items":[{"sku":"AB-1042","quantity":2,"price":19.95},{"sku":"CD-2077","quantity":1,"price":249.5},{"sku":"EF-3311","quantity":12,"price":3.25}],"total":328.4,"express":true,"note":"Please ring twice."}"#;

pub(crate) const CASES: &[Case] = &[
    Case::new("checked", || read::<checked>(), ROUNDS),
    Case::new("unchecked", || read::<unchecked>(), ROUNDS),
    Case::new("nested", || read::<nested>(), ROUNDS),
    Case::new("parse", || repeat(parse), ROUNDS),
    Case::new("jsonschema", || by_schema(checked::def().spec().input.neutral()), ROUNDS),
    Case::new("validator", || by_validator(checked::def().spec().input.neutral()), ROUNDS),
];

const ROUNDS: (u64, u64) = (100, 600);

/// Prints the targets of the checks.
pub(crate) fn measure(report: &mut Report) {
    let [checked, unchecked, nested, parse, jsonschema, validator] = CASES else { return };
    if report.wants("validate/decode") {
        let (ratio, how) = count::ratio(checked, parse);
        report.at_most("validate/decode", ratio, 1.1, &how);
    }
    if report.wants("validate/jsonschema") {
        let (ratio, how) = count::ratio(jsonschema, checked);
        report.at_least("validate/jsonschema", ratio, 2.5, &how);
    }
    if report.wants("validate/allocations") {
        let mut decode = (checked.start)();
        let (ours, typed) = (allocations(|| decode(1)), allocations(self::parse));
        let how = format!("of reading with checks {ours}, of the typed parse {typed}");
        report.at_most("validate/allocations", ours - typed, 0.0, &how);
    }
    for (name, ours, floor, what) in [
        ("validate/checks", checked, unchecked, "x our own reading without checks"),
        ("validate/nested", nested, parse, "x the typed parse, with limits inside the items"),
        ("validate/our-validator", validator, checked, "x fewer than the schema's own validator"),
    ] {
        if report.wants(name) {
            let (ratio, how) = count::ratio(ours, floor);
            report.info(name, &format!("{ratio:.3} {what} ({how})"));
        }
    }
}

fn read<T: Tool>() -> Box<dyn FnMut(u64)> {
    let cx = Context::new("call_1");
    repeat(move || {
        black_box(T::decode(black_box(TEXT), &cx).expect("the text is right"));
    })
}

fn repeat(mut work: impl FnMut() + 'static) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| (0..rounds).for_each(|_| work()))
}

fn parse() {
    black_box(serde_json::from_str::<Order>(black_box(TEXT)).expect("the text is right"));
}

/// Reads in the generic way: a tree, a compiled schema, and the types from the tree.
fn by_schema(schema: &Value) -> Box<dyn FnMut(u64)> {
    let validator = jsonschema::validator_for(schema).expect("the schema compiles");
    through_a_tree(move |value| validator.is_valid(value))
}

/// Does the same with the runtime's validator.
fn by_validator(schema: &Value) -> Box<dyn FnMut(u64)> {
    let compiled = CompiledSchema::compile(schema).expect("the schema compiles");
    through_a_tree(move |value| compiled.is_valid(value))
}

fn through_a_tree(is_valid: impl Fn(&Value) -> bool + 'static) -> Box<dyn FnMut(u64)> {
    repeat(move || {
        let value: Value = serde_json::from_str(black_box(TEXT)).expect("the text is right");
        assert!(is_valid(&value), "the text is right");
        black_box(serde_json::from_value::<Order>(value).expect("the text is right"));
    })
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "its fields are deserialized and never used")]
struct Order {
    customer: String,
    address: String,
    items: Vec<Item>,
    total: f64,
    express: bool,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "its fields are deserialized and never used")]
struct Item {
    sku: String,
    quantity: u32,
    price: f64,
}

/// An item with limits that only its schema has.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "its fields are deserialized and never used")]
struct Limited {
    #[schemars(length(min = 1, max = 20))]
    sku: String,
    #[schemars(range(min = 1, max = 100))]
    quantity: u32,
    #[schemars(range(min = 0))]
    price: f64,
}

macro_rules! order {
    ($name:ident, $item:ty $(, $customer:meta, $address:meta, $items:meta, $total:meta)?) => {
        /// Takes an order.
        #[tool]
        async fn $name(
            /// The customer's id.
            $(#[$customer])?
            customer: String,
            /// The address.
            $(#[$address])?
            address: String,
            /// The ordered items.
            $(#[$items])?
            items: Vec<$item>,
            /// The sum.
            $(#[$total])?
            total: f64,
            /// Set if it is urgent.
            express: bool,
            /// A remark.
            note: Option<String>,
        ) -> usize {
            black_box((customer, address, total, express, note));
            items.len()
        }
    };
}

order!(unchecked, Item);
order!(
    checked,
    Item,
    arg(pattern = "^[a-z]+_[a-z]+_[0-9]+$"),
    arg(length(1..=200)),
    arg(length(1..=50)),
    arg(range(0.0..=100_000.0))
);
order!(
    nested,
    Limited,
    arg(pattern = "^[a-z]+_[a-z]+_[0-9]+$"),
    arg(length(1..=200)),
    arg(length(1..=50)),
    arg(range(0.0..=100_000.0))
);

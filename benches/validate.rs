//! The cost of reading and checking arguments, against reading the same types without a check.
//!
//! The arguments are an order with texts, numbers and a list of items. Parsing it into its types takes 7,700 instructions.
//! The checks are of a pattern, a range and two lengths.

use std::hint::black_box;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool_runtime::{Context, Tool, schema::CompiledSchema, tool};

use crate::{case::Case, cost, memory::allocations, report::Report};

const TEXT: &str = r#"{"customer":"yusuf_rossi_9620","address":"101 Elm Street, Springfield","items":[{"sku":"AB-1042","quantity":2,"price":19.95},{"sku":"CD-2077","quantity":1,"price":249.5},{"sku":"EF-3311","quantity":12,"price":3.25}],"total":328.4,"express":true,"note":"Please ring twice."}"#;

pub(crate) const CASES: &[Case] = &[
    Case::new("checked", || read::<checked>(), ROUNDS),
    Case::new("unchecked", || read::<unchecked>(), ROUNDS),
    Case::new("nested", || read::<nested>(), ROUNDS),
    Case::new("parse", || repeat(parse), ROUNDS),
    Case::new("jsonschema", || read_with_schema(checked::def().spec().input.neutral()), ROUNDS),
    Case::new("validator", || read_with_compiled_schema(checked::def().spec().input.neutral()), ROUNDS),
];

const ROUNDS: (u64, u64) = (100, 600);

/// Measures reading with and without checks, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let [checked, unchecked, nested, parse, jsonschema, compiled] = CASES else { return };
    if report.wants("validate/decode") {
        let (ratio, how) = cost::compare(checked, parse);
        report.at_most("validate/decode", ratio, 1.1, &how);
    }
    if report.wants("validate/jsonschema") {
        let (ratio, how) = cost::compare(jsonschema, checked);
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
        ("validate/our-validator", compiled, checked, "x fewer than `CompiledSchema` with the same schema"),
    ] {
        if report.wants(name) {
            let (ratio, how) = cost::compare(ours, floor);
            report.info(name, &format!("{ratio:.3} {what} ({how})"));
        }
    }
}

/// Reads the arguments as the tool `T` does, with its checks.
fn read<T: Tool>() -> Box<dyn FnMut(u64)> {
    let cx = Context::new("call_1");
    repeat(move || {
        black_box(T::decode(black_box(TEXT), &cx).expect("the text is right"));
    })
}

fn repeat(mut work: impl FnMut() + 'static) -> Box<dyn FnMut(u64)> {
    Box::new(move |rounds| (0..rounds).for_each(|_| work()))
}

/// Reads the arguments into their types, without checks.
fn parse() {
    black_box(serde_json::from_str::<Order>(black_box(TEXT)).expect("the text is right"));
}

/// Reads a tree, checks it against the schema with the library `jsonschema`, and reads the types from the tree.
fn read_with_schema(schema: &Value) -> Box<dyn FnMut(u64)> {
    let validator = jsonschema::validator_for(schema).expect("the schema compiles");
    read_through_tree(move |value| validator.is_valid(value))
}

/// Reads a tree, checks it with the runtime's [`CompiledSchema`], and reads the types from the tree.
fn read_with_compiled_schema(schema: &Value) -> Box<dyn FnMut(u64)> {
    let schema = CompiledSchema::compile(schema).expect("the schema compiles");
    read_through_tree(move |value| schema.is_valid(value))
}

/// Reads a tree, checks it with `is_valid`, and reads the types from the tree.
fn read_through_tree(is_valid: impl Fn(&Value) -> bool + 'static) -> Box<dyn FnMut(u64)> {
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

/// An item whose limits schemars writes into the schema; serde does not check them.
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

//! What the checks of a range, a length and a pattern add to reading the arguments.

use std::hint::black_box;

use serde::Deserialize;
use tool_runtime::{Context, Tool, tool};

use crate::{case::Case, count, report::Report};

const TEXT: &str = r#"{"customer":"yusuf_rossi_9620","address":"101 Elm Street, Springfield","amount":12}"#;

pub(crate) const CASES: &[Case] = &[
    Case::new("checked", || read::<checked>(), ROUNDS),
    Case::new("unchecked", || read::<unchecked>(), ROUNDS),
    Case::new("parse", parse, ROUNDS),
];

const ROUNDS: (u64, u64) = (100, 1100);

/// Prints the target of the checks.
pub(crate) fn measure(report: &mut Report) {
    let [checked, unchecked, parse] = CASES else { return };
    if report.wants("validate/decode") {
        let (ratio, how) = count::ratio(checked, unchecked);
        report.at_most("validate/decode", ratio, 1.1, &how);
    }
    if report.wants("validate/parse") {
        let (ratio, how) = count::ratio(checked, parse);
        report.info("validate/parse", &format!("{ratio:.3} x the typed parse alone ({how})"));
    }
}

fn read<T: Tool>() -> Box<dyn FnMut(u64)> {
    let cx = Context::new("call_1");
    Box::new(move |rounds| {
        for _ in 0..rounds {
            black_box(T::decode(black_box(TEXT), &cx).expect("the text is right"));
        }
    })
}

fn parse() -> Box<dyn FnMut(u64)> {
    Box::new(|rounds| {
        for _ in 0..rounds {
            let order: Order = serde_json::from_str(black_box(TEXT)).expect("the text is right");
            black_box((order.customer, order.address, order.amount));
        }
    })
}

#[derive(Deserialize)]
struct Order {
    customer: String,
    address: String,
    amount: u32,
}

/// Takes an order.
#[tool]
async fn checked(
    /// The customer's id.
    #[arg(pattern = "^[a-z]+_[a-z]+_[0-9]+$")]
    customer: String,
    /// Where to send it.
    #[arg(length(1..=200))]
    address: String,
    /// How many.
    #[arg(range(1..=100))]
    amount: u32,
) -> u32 {
    black_box((customer, address));
    amount
}

/// Takes an order.
#[tool]
async fn unchecked(
    /// The customer's id.
    customer: String,
    /// Where to send it.
    address: String,
    /// How many.
    amount: u32,
) -> u32 {
    black_box((customer, address));
    amount
}

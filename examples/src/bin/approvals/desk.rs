//! The shop's desk: orders that can be looked up, and money that can be paid back.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Context, Failure, Toolset, lint_test, tool, toolset};

/// The orders: number, customer, and the price that was paid, in euros.
const ORDERS: [(&str, &str, u32); 4] =
    [("A101", "Ada", 25), ("A102", "Grace", 120), ("A103", "Edsger", 60), ("A104", "Barbara", 480)];

/// The shop.
pub(crate) struct Desk {
    /// A file with a line for each payment. It stands for the bank: a payment in it has happened.
    ledger: PathBuf,
}

/// An order.
#[derive(Debug, Serialize, JsonSchema)]
struct Order {
    number: &'static str,
    customer: &'static str,
    /// The price that was paid, in euros.
    paid: u32,
    /// The amount that was paid back, in euros.
    refunded: u32,
}

pub(crate) fn tools(ledger: PathBuf) -> Toolset {
    toolset!(Desk { ledger }; find_order, refund)
}

lint_test!(tools(PathBuf::new()));

impl Desk {
    fn find(&self, order: &str) -> Result<Order, Failure> {
        let found = ORDERS.into_iter().find(|(number, ..)| *number == order);
        let (number, customer, paid) = found.ok_or_else(|| Failure::new(format!("there is no order {order}")))?;
        let ledger = match std::fs::read_to_string(&self.ledger) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(|error| Failure::new("the ledger cannot be read").source(error))?,
        };
        let sums = ledger.lines().filter_map(|line| line.strip_prefix(number)?.split_whitespace().next()?.parse().ok());
        Ok(Order { number, customer, paid, refunded: sums.fold(0, u32::saturating_add) })
    }

    fn pay(&self, line: &str) -> io::Result<()> {
        let mut ledger = OpenOptions::new().create(true).append(true).open(&self.ledger)?;
        ledger.write_all(line.as_bytes())?;
        ledger.sync_all()
    }
}

/// Look an order up.
#[tool(effect = read_only, blocking, title = "Find an order")]
fn find_order(
    /// The order's number.
    #[arg(pattern = "^A[0-9]{3}$", example = "A102")]
    order: String,
    #[state] desk: &Desk,
) -> Result<Order, Failure> {
    desk.find(&order)
}

/// Refund an order: pay money back.
#[tool(
    approval = always,
    effect = destructive,
    sequential,
    blocking,
    title = "Refund an order",
    challenge = "Pay {amount} euros back for order {order}?"
)]
fn refund(
    /// The order's number.
    #[arg(pattern = "^A[0-9]{3}$", example = "A102")]
    order: String,
    /// The amount to pay back, in euros.
    #[arg(range(1..=500), example = 40)]
    amount: u32,
    #[state] desk: &Desk,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    let Order { customer, paid, refunded, .. } = desk.find(&order)?;
    let left = paid.saturating_sub(refunded);
    if amount > left {
        return Err(Failure::new(format!("{left} euros of order {order} can still be paid back, not {amount}")));
    }
    desk.pay(&format!("{order} {amount} EUR to {customer} ({})\n", cx.call_id()))
        .map_err(|error| Failure::new("the ledger cannot be written").source(error))?;
    Ok(format!("{amount} euros were paid back to {customer}"))
}

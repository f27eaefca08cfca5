//! The store's refusals.

use std::error::Error;
use std::fmt;

use crate::arithmetic::Problem;

/// A refusal; its text is what the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetailError {
    OrderNotFound,
    UserNotFound,
    ProductNotFound,
    PaymentMethodNotFound,
    /// An order was to be cancelled or modified that is not pending, or no longer.
    NotPending {
        action: &'static str,
    },
    /// An order was to be exchanged or returned that is not delivered.
    NotDelivered {
        action: &'static str,
    },
    /// The order does not hold this item, or not that often.
    ItemNotInOrder(String),
    /// No such item of the same product is in stock.
    ItemNotAvailable(String),
    /// As many new items are needed as old ones.
    ItemsUnpaired,
    /// The gift card does not cover what is to be paid.
    BalanceTooLow {
        purpose: &'static str,
    },
    /// A refund goes to the original payment method or a gift card.
    RefundElsewhere,
    /// The new payment method is the present one.
    SamePaymentMethod,
    /// A payment can be moved only if it is the one that is open.
    NotOnePayment,
    Expression(Problem),
}

impl fmt::Display for RetailError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Error: ")?;
        match self {
            Self::OrderNotFound => formatter.write_str("order not found"),
            Self::UserNotFound => formatter.write_str("user not found"),
            Self::ProductNotFound => formatter.write_str("product not found"),
            Self::PaymentMethodNotFound => formatter.write_str("payment method not found"),
            Self::NotPending { action } => write!(formatter, "non-pending order cannot be {action}"),
            Self::NotDelivered { action } => write!(formatter, "non-delivered order cannot be {action}"),
            Self::ItemNotInOrder(item) => write!(formatter, "item {item} not found in the order"),
            Self::ItemNotAvailable(item) => write!(formatter, "new item {item} not found or not available"),
            Self::ItemsUnpaired => formatter.write_str("the number of items and new items should match"),
            Self::BalanceTooLow { purpose } => {
                write!(formatter, "insufficient gift card balance to pay for the {purpose}")
            }
            Self::RefundElsewhere => {
                formatter.write_str("payment method should be either the original payment method or a gift card")
            }
            Self::SamePaymentMethod => {
                formatter.write_str("the new payment method should be different from the current one")
            }
            Self::NotOnePayment => formatter.write_str("the order should have exactly one payment"),
            Self::Expression(problem) => problem.fmt(formatter),
        }
    }
}

impl Error for RetailError {}

impl From<Problem> for RetailError {
    fn from(problem: Problem) -> Self {
        Self::Expression(problem)
    }
}

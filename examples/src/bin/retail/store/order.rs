//! Orders, payments, and requests about them.
#![expect(clippy::struct_field_names, reason = "the names of the database")]

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Address;
use crate::error::RetailError;
use crate::number::Number;

/// An order. What follows the payment history is there only after a cancellation, a return or an exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Order {
    order_id: String,
    pub(crate) user_id: String,
    pub(crate) address: Address,
    pub(crate) items: Vec<Item>,
    fulfillments: Vec<Fulfillment>,
    pub(crate) status: Status,
    pub(crate) payment_history: Vec<Transaction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cancel_reason: Option<CancelReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) return_items: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) return_payment_method_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exchange_items: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exchange_new_items: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exchange_payment_method_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exchange_price_difference: Option<Number>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) product_id: String,
    pub(crate) item_id: String,
    pub(crate) price: Number,
    pub(crate) options: IndexMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Fulfillment {
    tracking_id: Vec<String>,
    item_ids: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(crate) enum Status {
    #[serde(rename = "pending")]
    Pending,
    #[serde(rename = "pending (item modified)")]
    ItemModified,
    #[serde(rename = "processed")]
    Processed,
    #[serde(rename = "delivered")]
    Delivered,
    #[serde(rename = "cancelled")]
    Cancelled,
    #[serde(rename = "return requested")]
    ReturnRequested,
    #[serde(rename = "exchange requested")]
    ExchangeRequested,
}

/// The reasons the policy accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum CancelReason {
    #[serde(rename = "no longer needed")]
    NoLongerNeeded,
    #[serde(rename = "ordered by mistake")]
    OrderedByMistake,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Transaction {
    transaction_type: TransactionType,
    pub(crate) amount: Number,
    pub(crate) payment_method_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TransactionType {
    Payment,
    Refund,
}

impl Order {
    /// Refuses unless the order is pending and its items are as ordered.
    pub(crate) fn require_pending(&self, action: &'static str) -> Result<(), RetailError> {
        if self.status == Status::Pending { Ok(()) } else { Err(RetailError::NotPending { action }) }
    }

    /// Refuses unless the order is delivered and nothing was sent back yet.
    pub(crate) fn require_delivered(&self, action: &'static str) -> Result<(), RetailError> {
        if self.status == Status::Delivered { Ok(()) } else { Err(RetailError::NotDelivered { action }) }
    }

    /// Where each of these items stands in the order; the same id twice takes two items.
    pub(crate) fn positions(&self, item_ids: &[String]) -> Result<Vec<usize>, RetailError> {
        let mut taken = Vec::with_capacity(item_ids.len());
        for id in item_ids {
            let free = self.items.iter().enumerate().find(|(at, item)| item.item_id == *id && !taken.contains(at));
            let (at, _) = free.ok_or_else(|| RetailError::ItemNotInOrder(id.clone()))?;
            taken.push(at);
        }
        Ok(taken)
    }

    /// The payments that no refund of the same sum to the same method has undone.
    pub(crate) fn open_payments(&self) -> Vec<Transaction> {
        let mut open: Vec<Transaction> = Vec::new();
        for transaction in &self.payment_history {
            match transaction.transaction_type {
                TransactionType::Payment => open.push(transaction.clone()),
                TransactionType::Refund => {
                    let undone = open.iter().position(|payment| payment.is_undone_by(transaction));
                    undone.map(|at| open.remove(at));
                }
            }
        }
        open
    }
}

impl Transaction {
    pub(crate) fn payment(amount: Number, payment_method_id: String) -> Self {
        Self { transaction_type: TransactionType::Payment, amount, payment_method_id }
    }

    pub(crate) fn refund(amount: Number, payment_method_id: String) -> Self {
        Self { transaction_type: TransactionType::Refund, amount, payment_method_id }
    }

    fn is_undone_by(&self, refund: &Self) -> bool {
        self.payment_method_id == refund.payment_method_id && self.amount == refund.amount
    }
}

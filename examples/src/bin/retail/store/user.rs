//! A customer, and how they pay.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Address;
use crate::error::RetailError;
use crate::number::Number;

/// A customer, with payment methods by their id.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct User {
    pub(crate) name: Name,
    pub(crate) address: Address,
    pub(crate) email: String,
    payment_methods: IndexMap<String, PaymentMethod>,
    orders: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) first_name: String,
    pub(crate) last_name: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case")]
pub(crate) enum PaymentMethod {
    Paypal { id: String },
    CreditCard { brand: String, last_four: String, id: String },
    GiftCard { balance: Number, id: String },
}

impl PaymentMethod {
    pub(crate) fn is_gift_card(&self) -> bool {
        matches!(self, Self::GiftCard { .. })
    }
}

impl User {
    pub(crate) fn payment_method(&self, id: &str) -> Result<&PaymentMethod, RetailError> {
        self.payment_methods.get(id).ok_or(RetailError::PaymentMethodNotFound)
    }

    /// Refuses when the method is a gift card that holds less than `amount`.
    pub(crate) fn covers(&self, method: &str, amount: Number, purpose: &'static str) -> Result<(), RetailError> {
        match self.payment_method(method)? {
            PaymentMethod::GiftCard { balance, .. } if *balance < amount => Err(RetailError::BalanceTooLow { purpose }),
            _ => Ok(()),
        }
    }

    /// Puts `amount` back on a gift card. Other methods are settled outside the shop, in five to seven days.
    pub(crate) fn credit(&mut self, method: &str, amount: Number) {
        if let Some(PaymentMethod::GiftCard { balance, .. }) = self.payment_methods.get_mut(method) {
            *balance = (*balance + amount).rounded();
        }
    }

    /// Takes `amount` from a gift card; a negative amount is put back.
    pub(crate) fn charge(&mut self, method: &str, amount: Number) {
        if let Some(PaymentMethod::GiftCard { balance, .. }) = self.payment_methods.get_mut(method) {
            *balance = (*balance - amount).rounded();
        }
    }
}

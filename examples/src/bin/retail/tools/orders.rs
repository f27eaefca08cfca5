//! Looking at orders, and changing pending ones.

use tool_runtime::tool;

use crate::error::RetailError;
use crate::store::{Address, CancelReason, Order, Status, Store, Transaction};

/// Get the status and details of an order.
#[tool(effect = read_only)]
pub(crate) fn get_order_details(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.order(&order_id)
}

/// Cancel a pending order. If the order is already processed or delivered, it cannot be cancelled. The agent needs to
/// explain the cancellation detail and ask for explicit user confirmation (yes/no) to proceed. If the user confirms,
/// the order status will be changed to 'cancelled' and the payment will be refunded. The refund will be added to the
/// user's gift card balance immediately if the payment was made using a gift card, otherwise the refund would take 5-7
/// business days to process. The function returns the order details after the cancellation.
#[tool(approval = always, effect = destructive)]
pub(crate) fn cancel_pending_order(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The reason for cancellation, which should be either 'no longer needed' or 'ordered by mistake'.
    reason: CancelReason,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, user| {
        order.require_pending("cancelled")?;
        for payment in order.open_payments() {
            user.credit(&payment.payment_method_id, payment.amount);
            order.payment_history.push(Transaction::refund(payment.amount, payment.payment_method_id));
        }
        order.status = Status::Cancelled;
        order.cancel_reason = Some(reason);
        Ok(())
    })
}

/// Modify the shipping address of a pending order. The agent needs to explain the modification detail and ask for
/// explicit user confirmation (yes/no) to proceed.
#[tool(approval = always, effect = write, idempotent)]
#[expect(clippy::too_many_arguments, reason = "an address has six lines")]
pub(crate) fn modify_pending_order_address(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The first line of the address, such as '123 Main St'.
    address1: String,
    /// The second line of the address, such as 'Apt 1' or ''.
    address2: String,
    /// The city, such as 'San Francisco'.
    city: String,
    /// The state, such as 'CA'.
    state: String,
    /// The country, such as 'USA'.
    country: String,
    /// The zip code, such as '12345'.
    zip: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, _| {
        order.require_pending("modified")?;
        order.address = Address::new([
            ("address1", address1),
            ("address2", address2),
            ("city", city),
            ("state", state),
            ("country", country),
            ("zip", zip),
        ]);
        Ok(())
    })
}

/// Modify the payment method of a pending order. The agent needs to explain the modification detail and ask for
/// explicit user confirmation (yes/no) to proceed.
#[tool(approval = always, effect = write)]
pub(crate) fn modify_pending_order_payment(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or
    /// 'credit_card_0000000'. These can be looked up from the user or order details.
    payment_method_id: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, user| {
        order.require_pending("modified")?;
        user.payment_method(&payment_method_id)?;
        let [current] = &*order.open_payments() else { return Err(RetailError::NotOnePayment) };
        if current.payment_method_id == payment_method_id {
            return Err(RetailError::SamePaymentMethod);
        }
        user.covers(&payment_method_id, current.amount, "order")?;
        user.charge(&payment_method_id, current.amount);
        user.credit(&current.payment_method_id, current.amount);
        order.payment_history.push(Transaction::payment(current.amount, payment_method_id));
        order.payment_history.push(Transaction::refund(current.amount, current.payment_method_id.clone()));
        Ok(())
    })
}

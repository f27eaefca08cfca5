//! Changing what was ordered: replacing, exchanging and returning items.

use tool_runtime::tool;

use crate::error::RetailError;
use crate::number::Number;
use crate::store::{Item, Order, Status, Store, Transaction, Variant};

/// Modify items in a pending order to new items of the same product type. For a pending order, this function can only
/// be called once. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to
/// proceed.
#[tool(approval = always, effect = destructive)]
pub(crate) fn modify_pending_order_items(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The item ids to be modified, each such as '1008292230'. There could be duplicate items in the list.
    item_ids: Vec<String>,
    /// The item ids to be modified for, each such as '1008292230'. There could be duplicate items in the list. Each new
    /// item id should match the item id in the same position and be of the same product.
    new_item_ids: Vec<String>,
    /// The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or
    /// 'credit_card_0000000'. These can be looked up from the user or order details.
    payment_method_id: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, user| {
        order.require_pending("modified")?;
        let replacements = replacements(store, order, &item_ids, &new_item_ids)?;
        let difference = price_difference(order, &replacements);
        user.payment_method(&payment_method_id)?;
        user.covers(&payment_method_id, difference, "new item")?;
        user.charge(&payment_method_id, difference);
        // The history keeps the difference as computed; only balances are rounded.
        order.payment_history.push(if difference > Number::ZERO {
            Transaction::payment(difference, payment_method_id)
        } else {
            Transaction::refund(difference.abs(), payment_method_id)
        });
        for (at, variant) in replacements {
            let item = &mut order.items[at];
            item.item_id.clone_from(&variant.item_id);
            item.price = variant.price;
            item.options.clone_from(&variant.options);
        }
        order.status = Status::ItemModified;
        Ok(())
    })
}

/// Exchange items in a delivered order to new items of the same product type. For a delivered order, return or exchange
/// can be only done once by the agent. The agent needs to explain the exchange detail and ask for explicit user
/// confirmation (yes/no) to proceed.
#[tool(approval = always, effect = destructive)]
pub(crate) fn exchange_delivered_order_items(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The item ids to be exchanged, each such as '1008292230'. There could be duplicate items in the list.
    item_ids: Vec<String>,
    /// The item ids to be exchanged for, each such as '1008292230'. There could be duplicate items in the list. Each new
    /// item id should match the item id in the same position and be of the same product.
    new_item_ids: Vec<String>,
    /// The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or
    /// 'credit_card_0000000'. These can be looked up from the user or order details.
    payment_method_id: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, user| {
        order.require_delivered("exchanged")?;
        let replacements = replacements(store, order, &item_ids, &new_item_ids)?;
        let difference = price_difference(order, &replacements).rounded();
        user.payment_method(&payment_method_id)?;
        user.covers(&payment_method_id, difference, "price difference")?;
        // Money moves once the items have come back, not now.
        order.status = Status::ExchangeRequested;
        order.exchange_items = Some(sorted(item_ids));
        order.exchange_new_items = Some(sorted(new_item_ids));
        order.exchange_payment_method_id = Some(payment_method_id);
        order.exchange_price_difference = Some(difference);
        Ok(())
    })
}

/// Return some items of a delivered order. The order status will be changed to 'return requested'. The agent needs to
/// explain the return detail and ask for explicit user confirmation (yes/no) to proceed. The user will receive
/// follow-up email for how and where to return the item.
#[tool(approval = always, effect = destructive)]
pub(crate) fn return_delivered_order_items(
    /// The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.
    order_id: String,
    /// The item ids to be returned, each such as '1008292230'. There could be duplicate items in the list.
    item_ids: Vec<String>,
    /// The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or
    /// 'credit_card_0000000'. These can be looked up from the user or order details.
    payment_method_id: String,
    #[state] store: &Store,
) -> Result<Order, RetailError> {
    store.change_order(&order_id, |order, user| {
        order.require_delivered("returned")?;
        let original = order.payment_history.first().is_some_and(|paid| paid.payment_method_id == payment_method_id);
        if !user.payment_method(&payment_method_id)?.is_gift_card() && !original {
            return Err(RetailError::RefundElsewhere);
        }
        order.positions(&item_ids)?;
        order.status = Status::ReturnRequested;
        order.return_items = Some(sorted(item_ids));
        order.return_payment_method_id = Some(payment_method_id);
        Ok(())
    })
}

/// For each item, where it stands in the order and what replaces it: in stock, and of the same product.
fn replacements<'a>(
    store: &'a Store,
    order: &Order,
    item_ids: &[String],
    new_item_ids: &[String],
) -> Result<Vec<(usize, &'a Variant)>, RetailError> {
    if item_ids.len() != new_item_ids.len() {
        return Err(RetailError::ItemsUnpaired);
    }
    let positions = order.positions(item_ids)?;
    let pairs = positions.into_iter().zip(new_item_ids);
    pairs.map(|(at, new)| in_stock(store, &order.items[at], new).map(|variant| (at, variant))).collect()
}

fn in_stock<'a>(store: &'a Store, item: &Item, new_item_id: &str) -> Result<&'a Variant, RetailError> {
    let product = store.product(&item.product_id)?;
    product.in_stock(new_item_id).ok_or_else(|| RetailError::ItemNotAvailable(new_item_id.to_owned()))
}

/// Returns the difference in price between new and old items, added up pair by pair.
fn price_difference(order: &Order, replacements: &[(usize, &Variant)]) -> Number {
    let differences = replacements.iter().map(|(at, variant)| variant.price - order.items[*at].price);
    differences.fold(Number::ZERO, |sum, difference| sum + difference)
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort_unstable();
    ids
}

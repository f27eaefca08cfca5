//! The sixteen tools of the shop, with the descriptions of τ-bench (see `extract/ATTRIBUTION.md`).
#![expect(clippy::needless_pass_by_value, reason = "a tool owns its decoded arguments")]

mod general;
mod items;
mod orders;
mod products;
mod users;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::store::Store;

/// Runs one call: the value it returns, or the text of its refusal.
pub(crate) fn call(store: &Store, name: &str, arguments: &str) -> Result<Value, String> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let text = |name: &str| argument::<String>(&arguments, name);
    let list = |name: &str| argument::<Vec<String>>(&arguments, name);
    match name {
        "calculate" => answer(general::calculate(text("expression")?)),
        "think" => Ok(general::think(text("thought")?).into()),
        "transfer_to_human_agents" => Ok(general::transfer_to_human_agents(text("summary")?).into()),
        "list_all_product_types" => answer::<_, String>(Ok(products::list_all_product_types(store))),
        "get_product_details" => answer(products::get_product_details(text("product_id")?, store)),
        "find_user_id_by_email" => answer(users::find_user_id_by_email(text("email")?, store)),
        "find_user_id_by_name_zip" => {
            answer(users::find_user_id_by_name_zip(text("first_name")?, text("last_name")?, text("zip")?, store))
        }
        "get_user_details" => answer(users::get_user_details(text("user_id")?, store)),
        "modify_user_address" => answer(users::modify_user_address(
            text("user_id")?,
            text("address1")?,
            text("address2")?,
            text("city")?,
            text("state")?,
            text("country")?,
            text("zip")?,
            store,
        )),
        "get_order_details" => answer(orders::get_order_details(text("order_id")?, store)),
        "cancel_pending_order" => {
            answer(orders::cancel_pending_order(text("order_id")?, argument(&arguments, "reason")?, store))
        }
        "modify_pending_order_address" => answer(orders::modify_pending_order_address(
            text("order_id")?,
            text("address1")?,
            text("address2")?,
            text("city")?,
            text("state")?,
            text("country")?,
            text("zip")?,
            store,
        )),
        "modify_pending_order_payment" => {
            answer(orders::modify_pending_order_payment(text("order_id")?, text("payment_method_id")?, store))
        }
        "modify_pending_order_items" => answer(items::modify_pending_order_items(
            text("order_id")?,
            list("item_ids")?,
            list("new_item_ids")?,
            text("payment_method_id")?,
            store,
        )),
        "exchange_delivered_order_items" => answer(items::exchange_delivered_order_items(
            text("order_id")?,
            list("item_ids")?,
            list("new_item_ids")?,
            text("payment_method_id")?,
            store,
        )),
        "return_delivered_order_items" => answer(items::return_delivered_order_items(
            text("order_id")?,
            list("item_ids")?,
            text("payment_method_id")?,
            store,
        )),
        _ => Err(format!("there is no tool `{name}`")),
    }
}

fn argument<T: DeserializeOwned>(arguments: &Map<String, Value>, name: &str) -> Result<T, String> {
    let value = arguments.get(name).ok_or_else(|| format!("argument `{name}` is missing"))?;
    T::deserialize(value).map_err(|error| format!("argument `{name}`: {error}"))
}

fn answer<T: serde::Serialize, E: ToString>(result: Result<T, E>) -> Result<Value, String> {
    let value = result.map_err(|refusal| refusal.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

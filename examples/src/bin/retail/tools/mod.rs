//! The sixteen tools of the shop, with the descriptions of τ-bench (see `extract/ATTRIBUTION.md`).

mod general;
mod items;
mod orders;
mod products;
mod users;

use std::sync::Arc;

use tool_runtime::{Toolset, toolset};

use self::general::{calculate, think, transfer_to_human_agents};
use self::items::{exchange_delivered_order_items, modify_pending_order_items, return_delivered_order_items};
use self::orders::{
    cancel_pending_order, get_order_details, modify_pending_order_address, modify_pending_order_payment,
};
use self::products::{get_product_details, list_all_product_types};
use self::users::{find_user_id_by_email, find_user_id_by_name_zip, get_user_details, modify_user_address};
use crate::store::Store;

/// The tools of a shop that keeps its records in `store`, in the order of their names.
pub(crate) fn of(store: Arc<Store>) -> Toolset {
    toolset!(
        store;
        calculate,
        cancel_pending_order,
        exchange_delivered_order_items,
        find_user_id_by_email,
        find_user_id_by_name_zip,
        get_order_details,
        get_product_details,
        get_user_details,
        list_all_product_types,
        modify_pending_order_address,
        modify_pending_order_items,
        modify_pending_order_payment,
        modify_user_address,
        return_delivered_order_items,
        think,
        transfer_to_human_agents,
    )
}

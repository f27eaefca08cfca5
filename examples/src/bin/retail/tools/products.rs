//! Tools about products.

use std::collections::BTreeMap;

use tool_runtime::tool;

use crate::error::RetailError;
use crate::store::{Product, Store};

/// List the name and product id of all product types. Each product type has a variety of different items with unique
/// item ids and options. There are only 50 product types in the store.
#[tool(effect = read_only)]
pub(crate) fn list_all_product_types(#[state] store: &Store) -> BTreeMap<String, String> {
    store.products().map(|product| (product.name.clone(), product.product_id.clone())).collect()
}

/// Get the inventory details of a product.
#[tool(effect = read_only)]
pub(crate) fn get_product_details(
    /// The product id, such as '6086499569'. Be careful the product id is different from the item id.
    product_id: String,
    #[state] store: &Store,
) -> Result<Product, RetailError> {
    store.product(&product_id).cloned()
}

//! The products of the shop.
#![expect(clippy::struct_field_names, reason = "the names of the database")]

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Number;

/// A type of product, such as a T-shirt, and its variants by item id.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Product {
    pub(crate) name: String,
    pub(crate) product_id: String,
    variants: IndexMap<String, Variant>,
}

/// One item that can be bought, such as a blue T-shirt of size M.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Variant {
    pub(crate) item_id: String,
    pub(crate) options: IndexMap<String, String>,
    available: bool,
    pub(crate) price: Number,
}

impl Product {
    /// The variant of this item id, if the shop has it in stock.
    pub(crate) fn in_stock(&self, item_id: &str) -> Option<&Variant> {
        self.variants.get(item_id).filter(|variant| variant.available)
    }
}

#![allow(deprecated)]

use tool_runtime::{Verdict, tools};

struct Shop;

#[tools]
impl Shop {
    /// Book a flight.
    #[tool]
    fn book(&self, #[dynamic(validate = Self::from)] from: String) -> String {
        from
    }

    fn from(&self, value: Option<String>, _: ShopBookFrom<'_>) -> Verdict<String> {
        value.map_or_else(|| Verdict::reject("missing"), Verdict::accept)
    }
}

fn main() {
    let _ = Shop.toolset();
}

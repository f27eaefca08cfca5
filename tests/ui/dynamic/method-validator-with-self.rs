use tool_runtime::{Validation, tools};

struct Shop;

#[tools]
impl Shop {
    /// Book a flight.
    #[tool(allow(undescribed))]
    fn book(&self, #[dynamic(validate = Self::from)] from: String) -> String {
        from
    }

    fn from(&self, value: Option<String>, _: ShopBookFrom<'_>) -> Validation<String> {
        value.map_or_else(|| Validation::reject("missing"), Validation::accept)
    }
}

fn main() {
    let _ = Shop.toolset();
}

use tool_runtime::tools;

struct Shop;

#[tools]
impl Default for Shop {
    fn default() -> Self {
        Shop
    }
}

fn main() {
    let _ = Shop::default();
}

use tool_runtime::tool;

struct Shop;

impl Shop {
    /// Count the items on a shelf.
    #[tool]
    fn count(shelf: u32) -> u32 {
        shelf
    }
}

fn main() {
    let _ = Shop::count(3);
}

use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    fn count(&self) -> u32 {
        3
    }
}

fn main() {
    let _ = Shop.count();
}

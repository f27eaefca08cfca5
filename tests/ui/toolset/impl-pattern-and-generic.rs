use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool]
    fn look<T>(&self, (a, b): (u8, u8), more: &str, it: T) -> u8 {
        drop((more, it));
        a + b
    }
}

fn main() {
    let _ = Shop.toolset();
}

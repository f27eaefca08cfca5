use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Get the weather.
    #[tool]
    fn get_weather(&self, city: String) -> String;
}

fn main() {
    let _ = Shop.get_weather(String::new());
}

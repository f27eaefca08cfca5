use tool_runtime::toolset;

mod shop {
    use tool_runtime::tool;

    /// Look.
    #[tool]
    pub fn look() {}

    /// Buy.
    #[tool]
    fn buy() {}

    pub fn sell() {}
}

fn main() {
    shop::sell();
    let _ = toolset!(shop::look, shop::sell, shop::buy, shop::lock, shops::look);
}

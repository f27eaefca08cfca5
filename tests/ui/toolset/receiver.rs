use tool_runtime::tools;

struct Shop(u32);

#[tools]
impl Shop {
    /// Count up.
    #[tool]
    fn up(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }

    /// Count down.
    #[tool]
    fn down(self) -> u32 {
        self.0
    }

    /// Count shared.
    #[tool]
    fn shared(self: std::sync::Arc<Self>) -> u32 {
        self.0
    }

    /// Count nothing.
    #[tool]
    fn zero() -> u32 {
        0
    }
}

fn main() {
    let _ = Shop(Shop::zero()).up();
    let _ = Shop(3).toolset();
}

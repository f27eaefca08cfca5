use tool_runtime::{tool, tools};

async fn load() -> u32 {
    3
}

/// Look.
#[tool]
fn look() -> u32 {
    if true {
        return load().await;
    }
    4
}

struct Shop;

#[tools]
impl Shop {
    /// Count.
    #[tool]
    fn count(&self) -> u32 {
        load().await + load().await
    }
}

fn main() {}

use tool_runtime::{Context, ExecuteWith, Failure, tool, toolset};

struct Shop;

/// Pay somebody.
#[tool(state = Shop, allow(undescribed))]
struct Pay {
    amount: u32,
}

impl ExecuteWith<Shop> for Pay {
    type Output = u32;
    type Error = Failure;

    async fn execute(self, _: &Shop, _: &Context) -> Result<u32, Failure> {
        Ok(self.amount)
    }
}

fn main() {
    let _ = toolset!(Pay);
}

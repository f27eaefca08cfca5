use tool_runtime::{Context, Execute, Failure, tool};

struct Shop;

/// Pay somebody.
#[tool(state = Shop, allow(undescribed))]
struct Pay {
    amount: u32,
}

impl Execute for Pay {
    type Output = u32;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<u32, Failure> {
        Ok(self.amount)
    }
}

fn main() {}

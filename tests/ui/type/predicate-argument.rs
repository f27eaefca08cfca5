use tool_runtime::tool;

fn is_large(amount: &u64) -> bool {
    *amount > 100
}

/// Pay somebody.
#[tool(approval = when(is_large), allow(undescribed))]
struct Pay {
    amount: u64,
}

impl tool_runtime::Execute for Pay {
    type Output = u64;
    type Error = tool_runtime::Failure;

    async fn execute(self, _: &tool_runtime::Context) -> Result<u64, tool_runtime::Failure> {
        Ok(self.amount)
    }
}

fn main() {}

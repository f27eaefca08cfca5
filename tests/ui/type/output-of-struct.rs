use tool_runtime::{Context, Execute, Failure, tool};

struct Receipt;

/// Pay somebody.
#[tool(allow(undescribed))]
struct Pay {
    amount: u32,
}

impl Execute for Pay {
    type Output = Receipt;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<Receipt, Failure> {
        let _ = self.amount;
        Ok(Receipt)
    }
}

fn main() {}

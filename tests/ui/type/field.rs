use tool_runtime::{Context, Execute, Failure, tool};

struct Money;

/// Pay somebody.
#[tool(allow(undescribed))]
struct Pay {
    amount: Money,
}

impl Execute for Pay {
    type Output = String;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<String, Failure> {
        let _ = self.amount;
        Ok(String::new())
    }
}

fn main() {}

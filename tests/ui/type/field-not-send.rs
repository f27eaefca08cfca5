use std::marker::PhantomData;

use tool_runtime::{Context, Execute, Failure, tool};

/// Pay somebody.
#[tool(allow(undescribed))]
struct Pay {
    amount: PhantomData<*const u8>,
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

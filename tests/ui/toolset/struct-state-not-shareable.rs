use std::cell::Cell;

use tool_runtime::{Context, ExecuteWith, Failure, tool, toolset};

struct Till(Cell<u32>);

/// Pay somebody.
#[tool(state = Till, allow(undescribed))]
struct Pay {
    amount: u32,
}

impl ExecuteWith<Till> for Pay {
    type Output = u32;
    type Error = Failure;

    async fn execute(self, till: &Till, _: &Context) -> Result<u32, Failure> {
        till.0.set(till.0.get() - self.amount);
        Ok(till.0.get())
    }
}

fn main() {
    let _ = toolset!(Till(Cell::new(3)); Pay);
}

use std::cell::Cell;

use tool_runtime::tools;

struct Shop {
    sold: Cell<u32>,
}

#[tools]
impl Shop {
    /// Count what was sold.
    #[tool]
    fn sold(&self) -> u32 {
        self.sold.get()
    }
}

fn main() {}

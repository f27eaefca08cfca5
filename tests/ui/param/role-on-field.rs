use tool_runtime::{Context, Execute, Failure, tool};

struct Shop;

/// Greet somebody.
#[tool]
struct Greet {
    name: String,
    #[state]
    shop: Shop,
}

impl Execute for Greet {
    type Output = String;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<String, Failure> {
        let _ = self.shop;
        Ok(self.name)
    }
}

fn main() {}

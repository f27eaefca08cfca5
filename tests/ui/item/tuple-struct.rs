use tool_runtime::{Context, Execute, Failure, tool};

/// Greet somebody.
#[tool]
struct Greet(String);

impl Execute for Greet {
    type Output = String;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<String, Failure> {
        Ok(self.0)
    }
}

fn main() {}

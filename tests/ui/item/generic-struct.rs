use tool_runtime::{Context, Execute, Failure, tool};

/// Greet somebody.
#[tool]
struct Greet<T> {
    name: T,
}

impl<T: ToString + Send> Execute for Greet<T> {
    type Output = String;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<String, Failure> {
        Ok(self.name.to_string())
    }
}

fn main() {}

use tool_runtime::{Context, Execute, tool};

/// Look something up.
#[tool(allow(undescribed))]
struct Look {
    query: String,
}

impl Execute for Look {
    type Output = String;
    type Error = std::convert::Infallible;

    async fn execute(&self, _: &Context) -> Result<String, Self::Error> {
        Ok(self.query.clone())
    }
}

fn main() {}

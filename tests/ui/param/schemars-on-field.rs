use tool_runtime::{Context, Execute, tool};

/// Look something up.
#[tool]
#[derive(schemars::JsonSchema)]
struct Look {
    #[schemars(range(min = 1, max = 5))]
    pages: u8,
}

impl Execute for Look {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.pages)
    }
}

fn main() {}

use tool_runtime::{Context, Execute, tool};

/// Look something up.
#[tool]
#[derive(serde::Deserialize)]
struct Look {
    #[serde(default)]
    pages: u8,
    #[serde(flatten)]
    more: Option<u8>,
}

impl Execute for Look {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.pages)
    }
}

fn main() {}

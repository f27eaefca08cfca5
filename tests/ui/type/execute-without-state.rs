use tool_runtime::{Context, ExecuteWith, tool};

struct Shop(u8);

/// Look something up.
#[tool(allow(undescribed))]
struct Look {
    query: String,
}

impl ExecuteWith<Shop> for Look {
    type Output = String;
    type Error = std::convert::Infallible;

    async fn execute(self, shop: &Shop, _: &Context) -> Result<String, Self::Error> {
        Ok(format!("{}{}", self.query, shop.0))
    }
}

fn main() {}

use std::rc::Rc;

use tool_runtime::{Context, Execute, tool};

/// Look something up.
#[tool(allow(undescribed))]
struct Look {
    query: String,
}

impl Execute for Look {
    type Output = String;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<String, Self::Error> {
        let query = Rc::new(self.query);
        std::future::ready(()).await;
        Ok(query.to_string())
    }
}

fn main() {}

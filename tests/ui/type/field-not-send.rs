use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{Context, Execute, Failure, tool};

/// A value that must stay on its thread.
#[derive(Deserialize, JsonSchema)]
#[serde(from = "u8")]
struct Amount(#[schemars(with = "u8")] *const u8);

impl From<u8> for Amount {
    fn from(_: u8) -> Self {
        Self(std::ptr::null())
    }
}

/// Pay somebody.
#[tool(allow(undescribed))]
struct Pay {
    amount: Amount,
}

impl Execute for Pay {
    type Output = String;
    type Error = Failure;

    async fn execute(self, _: &Context) -> Result<String, Failure> {
        let _ = self.amount;
        Ok(String::new())
    }
}

fn main() {}

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::ToolOutput;

#[derive(Serialize, JsonSchema, ToolOutput)]
#[serde(rename_all = "camelCase")]
struct Booking {
    #[serde(rename = "code")]
    ok: String,
    validation_results: Vec<String>,
}

fn main() {}

use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::ToolOutput;

#[derive(Serialize, JsonSchema, ToolOutput)]
struct Booking {
    code: String,
    feedback: String,
}

fn main() {}

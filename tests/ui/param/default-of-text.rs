use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(#[arg(default = "a")] query: String, #[arg(default = 3)] city: Option<u8>) -> String {
    format!("{query}{city:?}")
}

fn main() {}

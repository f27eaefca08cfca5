use tool_runtime::tool;

async fn today() -> String {
    "Monday".to_owned()
}

/// Look something up.
#[tool(allow(undescribed))]
async fn look(#[arg(default = today().await)] day: String) -> String {
    day
}

fn main() {}

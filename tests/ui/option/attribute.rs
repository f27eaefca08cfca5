use tool_runtime::{tool, toolset};

/// Look.
#[tool(#[inline] effect = read_only, ui(#[cfg] icon = "x"))]
fn look(
    /// The query.
    #[arg(#[serde(default)] default)]
    query: String,
    /// The number.
    #[arg(#[cfg(all())] defalt = 3)]
    most: u8,
) -> String {
    format!("{query}{most}")
}

fn main() {
    let _ = toolset!(look);
}

use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(
    #[arg(pattern = "(?m)^a$")] lines: String,
    #[arg(pattern = r"\b{start}a")] word: String,
    #[arg(pattern = r"\p{greek}")] script: String,
) -> String {
    lines + &word + &script
}

fn main() {}

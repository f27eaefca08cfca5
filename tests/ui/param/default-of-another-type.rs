use tool_runtime::tool;

/// Roll a die.
#[tool(allow(undescribed))]
fn roll(
    #[arg(default = "5")] sides: u32,
    #[arg(default = 1.5)] times: u8,
    #[arg(default = 1)] fair: bool,
    #[arg(default = 6)] name: String,
    #[arg(default = true)] weight: f64,
    #[arg(default = 2)] again: Option<u8>,
) -> String {
    format!("{sides}{times}{fair}{name}{weight}{again:?}")
}

fn main() {}

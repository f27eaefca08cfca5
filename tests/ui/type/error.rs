use tool_runtime::tool;

#[derive(Debug)]
struct Broke;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: u32) -> Result<u32, Broke> {
    if amount > 3 { Err(Broke) } else { Ok(amount) }
}

fn main() {}

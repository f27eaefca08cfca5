use tool_runtime::tool;

/// Add two numbers.
#[tool]
fn add((a, b): (u8, u8), ref c: u8, _: u8, d @ e: u8) -> u8 {
    a + b + *c + d + e
}

fn main() {}

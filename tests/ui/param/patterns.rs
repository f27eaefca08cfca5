use tool_runtime::tool;

struct Point {
    x: u8,
}

/// Look something up.
#[tool]
fn look((a, b): (u8, u8), Point { x }: Point, [c, d]: [u8; 2], &e: &u8, ref f: u8) -> u8 {
    a + b + x + c + d + e + f
}

fn main() {}

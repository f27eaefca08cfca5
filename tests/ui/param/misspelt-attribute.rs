use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[args(default = 3)] pages: u8) -> u8 {
    pages
}

/// Look something up.
#[tool]
fn count(#[sate] pages: &u8) -> u8 {
    *pages
}

fn main() {}

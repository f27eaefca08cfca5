use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[context] cx: &u8) -> u8 {
    *cx
}

/// Look something up.
#[tool]
fn count(#[context] cx: String) -> String {
    cx
}

fn main() {}

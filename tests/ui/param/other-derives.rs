use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(#[schemars(range(min = 1))] pages: u8, #[validate(length(min = 1))] code: String) {
    drop((pages, code));
}

fn main() {}

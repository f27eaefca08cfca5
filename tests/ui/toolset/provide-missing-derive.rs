use tool_runtime::{tool, toolset};

struct Db;

struct App {
    db: Db,
}

/// Look.
#[tool]
fn look(#[state] db: &Db) -> u8 {
    let _ = db;
    3
}

fn main() {
    let _ = toolset!(App { db: Db }; look);
}

use tool_runtime::{Provide, tool, toolset};

struct Db<T>(T);

#[derive(Provide)]
struct App<T> {
    db: Db<T>,
}

/// Look.
#[tool]
fn look(#[state] db: &Db<u8>) -> u8 {
    db.0
}

fn main() {
    let _ = toolset!(App { db: Db(3_u16) }; look);
}

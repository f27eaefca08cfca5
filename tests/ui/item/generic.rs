use tool_runtime::{tool, toolset};

/// Greet somebody.
#[tool]
fn greet<T: ToString>(name: T) -> String {
    name.to_string()
}

/// Greet nobody.
#[tool]
fn nobody<'a>(name: &'a str) -> &'a str {
    name
}

/// Count.
#[tool]
fn count<const N: usize>() -> usize {
    N
}

fn main() {
    let _ = greet("a");
    let _ = count::<3>();
    let _ = toolset!(greet, nobody, count);
}

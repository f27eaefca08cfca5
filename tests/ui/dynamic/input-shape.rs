#![allow(deprecated)]

use tool_runtime::{DynamicInput, tool, toolset};

#[derive(DynamicInput)]
enum Way {
    There,
}

#[derive(DynamicInput)]
struct Pair(String, String);

#[derive(DynamicInput)]
struct Any<T> {
    value: T,
}

#[derive(DynamicInput)]
#[dynamic_input(state = Pair, states = Pair)]
struct Misspelt {
    #[dynamic(validate = a, requires(b))]
    a: String,
}

#[derive(DynamicInput)]
#[dynamic_input]
struct Empty {}

/// Go.
#[tool]
fn go(#[dynamic(nested)] pair: Pair, #[dynamic(nested)] misspelt: Misspelt) {
    drop((pair, misspelt));
}

fn main() {
    toolset!(go);
}

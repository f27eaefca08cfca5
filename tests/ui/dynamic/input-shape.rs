use tool_runtime::{DynamicInput, tool, toolset};

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
enum Way {
    There,
}

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Pair(String, String);

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Any<T> {
    value: T,
}

#[derive(DynamicInput)]
#[dynamic_input(state = Pair, states = Pair, allow(undescribed))]
struct Misspelt {
    #[dynamic(validate = a, requires(b))]
    a: String,
}

#[derive(DynamicInput)]
#[dynamic_input]
struct Empty {}

/// Go.
#[tool(allow(undescribed))]
fn go(#[dynamic(nested)] pair: Pair, #[dynamic(nested)] misspelt: Misspelt) {
    drop((pair, misspelt));
}

fn main() {
    toolset!(go);
}

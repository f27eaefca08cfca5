use tool_runtime::{TypedCall, Calls, Tool};

#[derive(Calls)]
enum AppCall<T: Tool> {
    Any(TypedCall<T>),
}

fn main() {}

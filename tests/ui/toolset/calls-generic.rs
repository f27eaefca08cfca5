use tool_runtime::{Call, Calls, Tool};

#[derive(Calls)]
enum AppCall<T: Tool> {
    Any(Call<T>),
}

fn main() {}

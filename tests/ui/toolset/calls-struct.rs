use tool_runtime::Calls;

#[derive(Calls)]
struct AppCall;

fn main() {}

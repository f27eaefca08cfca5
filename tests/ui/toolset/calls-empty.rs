use tool_runtime::Calls;

#[derive(Calls)]
enum AppCall {}

fn main() {}

use tool_runtime::Provide;

#[derive(Provide)]
struct App {
    name: String,
    address: String,
}

fn main() {}

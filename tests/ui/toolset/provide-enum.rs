use tool_runtime::Provide;

#[derive(Provide)]
enum App {
    Open,
}

fn main() {}

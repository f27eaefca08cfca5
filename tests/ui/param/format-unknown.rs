use tool_runtime::tool;

/// Send a mail.
#[tool]
fn send(#[arg(format = "e-mail")] to: String) -> String {
    to
}

fn main() {}

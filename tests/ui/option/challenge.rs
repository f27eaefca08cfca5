use tool_runtime::tool;

/// Delete a file.
#[tool(approval = always, challenge = "Delete {pth} of {user}, {path?")]
fn delete(path: String, #[arg(secret)] key: String) -> String {
    path + &key
}

/// Delete everything.
#[tool(approval = always, challenge = "Delete {all}?")]
fn delete_all() {}

fn main() {}

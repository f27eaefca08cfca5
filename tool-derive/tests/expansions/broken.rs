/// Delete a file.
#[tool(effect = destructive, timeout = 5)]
fn delete(path: String, #[state] files: &Files) -> bool {
    files.delete(&path)
}

use tool_runtime::tool;

/// Pay somebody.
#[tool(approval = when(amount > 20), allow(undescribed))]
fn pay(amount: u32) -> u32 {
    amount
}

/// Delete a file.
#[tool(approval = when(path.starts_with("/")), allow(undescribed))]
fn delete(path: String) -> String {
    path
}

/// Send a message.
#[tool(approval = when(!is_short("to the end of the world", words.len() + text.len())), allow(undescribed))]
fn send(text: String, words: Vec<String>) -> String {
    text + &words.concat()
}

/// Look something up.
#[tool(approval = when(true), allow(undescribed))]
fn look(query: String) -> String {
    query
}

/// Write a file.
#[tool(touches = [path], allow(undescribed))]
fn write(path: String) -> String {
    path
}

fn is_short(_: &str, length: usize) -> bool {
    length < 5
}

fn main() {
    let _ = is_short("", 1);
}

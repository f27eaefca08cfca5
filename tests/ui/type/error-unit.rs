use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: String) -> Result<String, ()> {
    Ok(query)
}

/// Look something up.
#[tool(allow(undescribed))]
async fn count(query: String) -> Result<u8, std::cell::RefCell<u8>> {
    drop(query);
    Ok(3)
}

fn main() {}

use tool_runtime::tool;

/// Look something up.
#[tool]
trait Look {
    fn look(&self, query: String) -> String;
}

fn main() {}

use tool_runtime::tool;

trait Look {
    /// Look something up.
    #[tool]
    fn look(&self, query: String) -> String;
}

fn main() {}

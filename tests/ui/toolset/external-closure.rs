use tool_runtime::toolset;

fn main() {
    let _ = toolset!(|query: String| query);
}

use tool_runtime::toolset;

struct Search;

fn main() {
    let _ = toolset!(Search);
}

use tool_runtime::tools;

#[tools]
struct Shop;

fn main() {
    let _ = Shop;
}

use tool_runtime::tools;

struct Shop<T>(T);

#[tools]
impl<T: Send + Sync> Shop<T> {
    /// Count the items.
    #[tool]
    fn count(&self) -> u32 {
        let _ = &self.0;
        3
    }
}

fn main() {
    let _ = Shop(1).count();
    let _ = Shop(1).toolset();
}

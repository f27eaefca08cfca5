//! A method whose parameters depend on the build is written once for each combination.
use tool_runtime::tools;

struct Shop;

#[tools]
impl Shop {
    /// Count the items.
    #[tool]
    fn count(
        &self,
        #[cfg(unix)] _a: u8,
        #[cfg(windows)] _b: u8,
        #[cfg(debug_assertions)] _c: u8,
        #[cfg(panic = "unwind")] _d: u8,
        #[cfg(target_pointer_width = "32")] _e: u8,
    ) -> u8 {
        3
    }

    /// Look.
    #[tool]
    fn look(&self) -> u8 {
        3
    }
}

fn main() {
    let _ = Shop.toolset();
}

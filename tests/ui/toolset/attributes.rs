use tool_runtime::{tool, toolset};

/// Look.
#[tool]
fn look() -> u8 {
    3
}

fn main() {
    let _ = toolset!(#[inline] look, #[tool] look);
    let _ = toolset!(#[cfg(all())] missing, #[cfg(any())] missing, look);
    let _ = toolset!(#[cfg(all())] look, #[cfg(any())] look, look);
}

use tool_runtime::tool;

/// Add some numbers.
#[tool]
fn sum<const N: usize>(numbers: [u8; N]) -> u8 {
    numbers.iter().sum()
}

/// Add some numbers.
#[tool]
fn add<T: std::iter::Sum>(numbers: Vec<T>) -> T
where
    T: Send,
{
    numbers.into_iter().sum()
}

fn main() {}

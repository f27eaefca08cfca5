use tool_runtime::tool;

struct Money;

/// Pay somebody.
#[tool]
fn pay(
    /// How much.
    #[arg(default = Money, example = 3)]
    amount: Money,
) -> String {
    let _ = amount;
    String::new()
}

fn main() {}

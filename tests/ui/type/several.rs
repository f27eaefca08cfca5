use tool_runtime::tool;

struct Money;
struct Receipt;
struct Broke;

/// Pay somebody.
#[tool(allow(undescribed))]
async fn pay(amount: Money, #[arg(range(0..=300))] times: u8, #[arg(pattern = "a")] to: u8) -> Result<Receipt, Broke> {
    let _ = (amount, times, to);
    Err(Broke)
}

fn main() {}

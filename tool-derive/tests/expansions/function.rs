/// Find a customer's orders.
#[tool(effect = read_only)]
async fn find_orders(
    /// The customer's number.
    #[arg(range(1..))]
    customer: u32,
    /// The largest number of results.
    #[arg(default = 10)]
    limit: usize,
    #[state] orders: &Orders,
) -> Result<Vec<String>, Failure> {
    orders.of(customer, limit).await
}

/// Book a table.
#[tool(approval = when(many))]
fn book_table(
    #[dynamic(validate = hour)] hour: u8,
    #[dynamic(validate = seats, requires(hour))] seats: u8,
) -> String {
    format!("{seats} at {hour}")
}

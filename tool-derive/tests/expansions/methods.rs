#[tools]
impl Counter {
    /// The next number.
    #[tool]
    fn next(&self, number: u64) -> u64 {
        number + self.step
    }
}

/// Ask the person which one they like.
#[tool(external, output = String)]
struct Choose {
    /// What there is to choose from.
    #[arg(length(2..=9))]
    options: Vec<String>,
}

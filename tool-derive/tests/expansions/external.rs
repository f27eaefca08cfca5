/// Ask the person which one they like.
#[tool(external, output = String)]
struct Choose {
    /// The choices.
    #[arg(length(2..=9))]
    options: Vec<String>,
}

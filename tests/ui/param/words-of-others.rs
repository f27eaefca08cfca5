use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(
    #[arg(description = "What to look for.")] query: String,
    #[arg(name = "limit")] most: u8,
    #[arg(min = 1, max = 5)] pages: u8,
    #[arg(optional)] city: String,
    #[arg(min_length = 1)] unit: String,
    #[arg(regex = "a")] code: String,
    #[arg(required)] it: String,
    #[arg(examples = ["a"])] word: String,
) {
    drop((query, most, pages, city, unit, code, it, word));
}

fn main() {}

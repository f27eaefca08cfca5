use tool_runtime::tool;

/// Get the size.
#[tool]
fn size(#[arg(rename = "")] a: String, #[arg(rename = "the_name_of_a_parameter_that_is_longer_than_any_provider_will_take")] b: String) -> String {
    a + &b
}

fn main() {}

//! A call with three mistakes: the model receives all of them at once, and corrects them.
//!
//! `cargo run -p examples --bin feedback` prints:
//!
//! ```text
//! rejected book_table {"restaurnt": "Luigi", "guests": 40}
//!   call: `restaurnt`: unknown name: expected `restaurant`, `guests`, `hour`; did you mean `restaurant`?
//!   restaurant: missing: expected a string of 1 to 80 characters
//!   guests: expected a whole number from 1 to 12, got 40
//!   hour: missing: expected a whole number from 17 to 22
//! ok book_table {"restaurant": "Luigi", "guests": 4, "hour": 20}
//!   "a table for 4 at Luigi, at 20 o'clock"
//! ```

use tool_runtime::{CallError, Context, tool, toolset};

/// Book a table.
#[tool]
async fn book_table(
    /// The restaurant's name.
    #[arg(length(1..=80))]
    restaurant: String,
    /// The number of people.
    #[arg(range(1..=12))]
    guests: u8,
    /// The hour, from 17 to 22.
    #[arg(range(17..=22))]
    hour: u8,
) -> String {
    format!("a table for {guests} at {restaurant}, at {hour} o'clock")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let tools = toolset!(book_table);
    let cx = Context::new("call_1");
    // In a run, a model writes these arguments. The agent sends the rejection to the model, which tries again.
    let tries = [r#"{"restaurnt": "Luigi", "guests": 40}"#, r#"{"restaurant": "Luigi", "guests": 4, "hour": 20}"#];
    for arguments in tries {
        match tools.call("book_table", arguments, &cx).await {
            Ok(output) => println!("ok book_table {arguments}\n  {}", output.as_json().unwrap_or_default()),
            Err(CallError::Rejected(rejection)) => {
                println!("rejected book_table {arguments}");
                rejection.to_text().lines().for_each(|line| println!("  {line}"));
            }
            Err(error) => println!("failed: {error}"),
        }
    }
}

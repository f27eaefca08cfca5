//! Advice is a warning; here it is denied, so that it can be pinned.
#![deny(deprecated)]

use tool_runtime::{Context, DynamicInput, Execute, Validation, tool, tools};

/// Look something up.
#[tool(approval = when(|_| true))]
fn look(
    query: String,
    /// The number of seconds.
    most: u8,
    #[arg(secret)] key: String,
    #[context] cx: &Context,
) -> String {
    format!("{query}{most}{key}{}", cx.call_id())
}

/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
/// Counts from a number on, and says far too much about how it does that, which no model reads with any profit.
#[tool(approval = when(|_input| 3 > 2))]
struct Count {
    from: u8,
}

impl Execute for Count {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.from)
    }
}

/// Wait for a number of seconds.
#[tool(timeout = "1s")]
fn wait(
    /// The number of seconds.
    seconds: u64,
) {
    std::thread::sleep(std::time::Duration::from_secs(seconds));
}

/// Wait for a number of seconds on a thread.
#[tool(timeout = "1s", blocking)]
fn wait_aside(
    /// The number of seconds.
    seconds: u64,
) {
    std::thread::sleep(std::time::Duration::from_secs(seconds));
}

struct Shop;

#[tools]
impl Shop {
    /// Count.
    #[tool]
    fn count(&self, from: u8) -> u8 {
        from
    }
}

#[derive(DynamicInput)]
struct Leg {
    #[dynamic(validate = city)]
    city: String,
}

fn city(value: Option<String>, _: LegCity<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn main() {
    let _ = Shop.toolset();
}

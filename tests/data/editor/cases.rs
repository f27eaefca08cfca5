// Incomplete declarations, as in an editor, and the expected completion or target at `$0`. Each case is one file.
// `scripts/rust-analyzer` asks the real rust-analyzer; `tool-derive` checks the macro's expansion.

//# body: completes find
use tool_runtime::tool;
struct Database;
impl Database { fn find(&self) {} }
/// Looks.
#[tool]
async fn look(id: u32, #[state] database: &Database) { database.$0 }

//# unknown-option: completes find
use tool_runtime::tool;
struct Database;
impl Database { fn find(&self) {} }
/// Looks.
#[tool(efect = read_only)]
async fn look(id: u32, #[state] database: &Database) { database.$0 }

//# half-an-option: completes find
use tool_runtime::tool;
struct Database;
impl Database { fn find(&self) {} }
/// Looks.
#[tool(effect = )]
async fn look(id: u32, #[state] database: &Database) { database.$0 }

//# no-description: completes find
use tool_runtime::tool;
struct Database;
impl Database { fn find(&self) {} }
#[tool]
async fn look(id: u32, #[state] database: &Database) { database.$0 }

//# half-a-limit: completes to_uppercase
use tool_runtime::tool;
/// Shouts.
#[tool]
fn shout(#[arg(length(1..=))] text: String) -> String { text.$0 }

//# half-an-attribute: completes to_uppercase
use tool_runtime::tool;
/// Shouts.
#[tool]
fn shout(#[arg(len)] text: String) -> String { text.$0 }

//# half-a-parameter: completes to_uppercase
use tool_runtime::tool;
/// Shouts.
#[tool]
fn shout(text: String, loud) -> String { text.$0 }

//# half-a-type: completes to_uppercase
use tool_runtime::tool;
/// Shouts.
#[tool]
fn shout(text: String, loud: ) -> String { text.$0 }

//# parameter: completes text
use tool_runtime::tool;
/// Shouts.
#[tool]
fn shout(#[arg(length(1..=9))] text: String) -> String { te$0 }

//# predicate: completes amount
use tool_runtime::tool;
/// Pays.
#[tool(approval = when(|input| input.am$0))]
fn pay(amount: u32) -> u32 { amount }

//# context: completes day
use tool_runtime::{Validation, tool};
/// Books.
#[tool]
fn book(#[dynamic(validate = day)] day: u8, #[dynamic(validate = seats, requires(day))] seats: u8) -> u8 { day + seats }
fn day(value: Option<u8>, _: BookDay<'_>) -> Validation<u8> { Validation::accept(value.unwrap_or(1)) }
fn seats(value: Option<u8>, known: BookSeats<'_>) -> Validation<u8> { known.$0 }

//# context-of-a-broken-tool: completes day
use tool_runtime::{Validation, tool};
/// Books.
#[tool(aproval = always)]
fn book(#[dynamic(validate = day)] day: u8, #[dynamic(validate = seats, requires(day))] seats: u8) -> u8 { day + seats }
fn day(value: Option<u8>, _: BookDay<'_>) -> Validation<u8> { Validation::accept(value.unwrap_or(1)) }
fn seats(value: Option<u8>, known: BookSeats<'_>) -> Validation<u8> { known.$0 }

//# fields: completes path
use tool_runtime::{Context, Execute, Failure, tool};
/// Reads.
#[tool(effect = )]
struct Read { path: String }
impl Execute for Read {
    type Output = usize;
    type Error = Failure;
    async fn execute(self, _: &Context) -> Result<usize, Failure> { self.$0 }
}

//# method: completes items
use tool_runtime::tools;
struct Shop { items: Vec<String> }
#[tools]
impl Shop {
    /// Counts.
    #[tool(effect = )]
    fn count(&self) -> usize { self.$0 }
}

//# another-method: completes count
use tool_runtime::tools;
struct Shop { items: Vec<String> }
#[tools]
impl Shop {
    /// Counts.
    #[tool]
    fn count(&self, #[arg(rang)] most: usize) -> usize { most }
    fn other(&self) { self.$0 }
}

//# call-of-a-broken-tool: leads to fn look
use tool_runtime::tool;
/// Looks.
#[tool(effect = )]
fn look(id: u32) -> u32 { id }
fn other() { lo$0ok(3); }

//# toolset: leads to fn look
use tool_runtime::{tool, toolset};
/// Looks.
#[tool]
fn look(id: u32) -> u32 { id }
fn other() { let _ = toolset!(lo$0ok); }

//# validator: leads to fn day
use tool_runtime::{Validation, tool};
/// Books.
#[tool]
fn book(#[dynamic(validate = da$0y)] date: u8) -> u8 { date }
fn day(value: Option<u8>, _: BookDate<'_>) -> Validation<u8> { Validation::accept(value.unwrap_or(1)) }

//# state: leads to struct Database
use tool_runtime::tool;
struct Database;
/// Looks.
#[tool(efect = read_only)]
fn look(id: u32, #[state] database: &Data$0base) {}

//# type-of-a-parameter: leads to struct Sort
use tool_runtime::tool;
struct Sort;
/// Looks.
#[tool]
fn look(#[arg(default = )] sort: So$0rt) {}

//# use-of-a-parameter: leads to fn look
use tool_runtime::tool;
/// Looks.
#[tool(effect = )]
fn look(#[arg(range(1..))] id: u32) -> u32 { i$0d }

//# touches: completes path
use tool_runtime::{tool, tool::TouchedResources};
/// Reads.
#[tool(touches = |input| TouchedResources::new().reads(&input.pa$0))]
fn read(path: String) -> usize { path.len() }

//# default: leads to const MOST
use tool_runtime::tool;
const MOST: usize = 10;
/// Reads.
#[tool]
fn read(#[arg(default = MO$0ST)] most: usize) -> usize { most }

//# output: leads to struct Answer
use tool_runtime::tool;
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Answer { yes: bool }
/// Asks.
#[tool(external, output = Ans$0wer)]
struct Ask { what: String }

//# nested: completes from
use tool_runtime::{DynamicInput, Validation, tool};
#[derive(DynamicInput)]
struct Leg { #[dynamic(validate = from)] from: String, #[dynamic(validate = to, requires(from))] to: String }
fn from(value: Option<String>, _: LegFrom<'_>) -> Validation<String> { Validation::accept(value.unwrap_or_default()) }
fn to(value: Option<String>, known: LegTo<'_>) -> Validation<String> { known.$0 }

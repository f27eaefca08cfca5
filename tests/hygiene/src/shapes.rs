//! Tools of every shape, with all kinds of options, in modules and bodies, with every visibility.

use std::convert::Infallible;

use tool_runtime::{
    Calls, Content, Context, Execute, Failure, Image, OutputWithContent, Text, Tool, ToolOutput, Toolset, TypedCall,
    tool, tool::TouchedResources, tools, toolset,
};

#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
enum Private {
    A,
    B,
}

/// A booking.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema, ToolOutput)]
pub struct Booked {
    /// The number.
    pub id: u32,
}

/// Has all options.
#[tool(
    name = "book",
    title = "Book",
    description = "Book a seat.",
    approval = when(is_far),
    effect = destructive,
    idempotent,
    open_world,
    timeout = "3s",
    retries = 2,
    touches = |input| TouchedResources::new().writes(input.row.to_string()),
    untrusted,
    challenge = "book {row}?",
    version = "2",
    migrate_from = ["1"],
    examples = [r#"{"row": 3}"#],
    ui(icon = "seat", running = "Booking", done = "Booked", tooltip = "Books a seat"),
    meta(team = "seats", level = 3, open = true),
    on_input_available = known
)]
#[must_use]
pub async fn book_a_seat(
    /// The row.
    #[arg(range(1..=40), default = 3, example = 7)]
    row: u8,
    /// The passenger.
    #[arg(length(1..=80), pattern = "^[A-Z]", rename = "for")]
    person: Option<String>,
    /// The day of travel.
    #[arg(format = "date")]
    day: Option<String>,
    #[arg(secret)] key: Option<String>,
) -> Result<Booked, Failure> {
    drop((person, day, key));
    Ok(Booked { id: row.into() })
}

const fn is_far(input: &book_a_seat) -> bool {
    input.row > 30
}

fn known(input: &book_a_seat, cx: &Context) {
    debug_assert!(input.row > 0 || cx.call_id().is_empty());
}

/// Has a private type.
#[tool(blocking, sequential, lenient)]
fn private(
    /// The item.
    which: Private,
) -> Private {
    which
}

/// Gives content.
#[tool]
const fn content() -> Content {
    Content(Vec::new())
}

/// Gives an image.
#[tool]
fn image() -> OutputWithContent<u8> {
    drop(Image { media_type: String::new(), data: String::new() });
    OutputWithContent { value: 3, model: Vec::new() }
}

/// An outer module.
pub mod outer {
    pub(crate) mod inner {
        use tool_runtime::tool;

        /// Deep inside.
        #[tool]
        pub(in crate::shapes) const fn deep() -> u8 {
            3
        }
    }
}

/// Asks a person.
#[tool(external, output = bool)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The item.
    what: String,
}

/// A unit struct.
#[tool(eager, effect = read_only)]
#[derive(Clone, Copy, Debug)]
pub struct Ping;

impl Execute for Ping {
    type Output = Text;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<Text, Infallible> {
        Ok(Text("pong".to_owned()))
    }
}

/// One of these.
#[tool(tag = "type", effect = read_only)]
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// By number.
    Number {
        /// The number.
        number: u32,
    },
    /// The last.
    #[arg(rename = "latest")]
    Last,
}

impl Execute for Lookup {
    type Output = u32;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<u32, Infallible> {
        Ok(match self {
            Self::Number { number } => number,
            Self::Last => 99,
        })
    }
}

/// A shop.
#[derive(Clone, Copy, Debug)]
pub struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool(name = "look_around")]
    #[inline]
    pub async fn look(&self) -> u8 {
        3
    }
}

/// Calls.
#[derive(Calls)]
enum AppCall {
    Book(TypedCall<book_a_seat>),
    Ping(TypedCall<Ping>),
}

/// Returns the name of the called tool.
#[must_use]
pub fn names(call: &tool_runtime::message::ToolCall) -> &'static str {
    match AppCall::read(call) {
        Ok(AppCall::Book(call)) if call.input.row > 3 => book_a_seat::NAME,
        Ok(AppCall::Book(_) | AppCall::Ping(_)) => Ping::NAME,
        Err(_) => "",
    }
}

/// Returns all tools, and one that is declared in this function.
#[must_use]
pub fn all() -> Toolset {
    /// In a body.
    #[tool]
    const fn local() -> u8 {
        3
    }
    let tools = toolset!(book_a_seat, private, content, image, outer::inner::deep, Ask, Ping, Lookup, local);
    tools.merge(Shop.toolset()).unwrap_or_default()
}

tool_runtime::lint_test!(all());

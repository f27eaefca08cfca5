//! Attributes on entries: of `toolset!`, and of lists of options.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tool_runtime::{Calls, Context, DynamicInput, Execute, TypedCall, Validation, tool, tool::Effect, tools, toolset};

/// Look.
#[tool(
    #[cfg(not(any()))]
    effect = read_only,
    #[cfg(any())]
    effect = nothing,
    #[cfg_attr(not(any()), cfg(any()))]
    timeout = missing,
    #[cfg_attr(any(), cfg(any()))]
    title = "Look",
    /// Why the others are here.
    #[allow(clippy::all)]
    examples = [#[cfg(any())] missing, #[cfg(not(any()))] r#"{"query": "a"}"#],
    ui(#[cfg(any())] nothing, icon = "x"),
    meta(#[cfg(not(any()))] team = "a", #[cfg(any())] team = "b"),
    allow(#[cfg(any())] nothing, #[allow(warnings)] undescribed),
)]
fn look(
    query: String,
    #[arg(#[cfg(any())] nothing, #[cfg(not(any()))] default = 3, #[cfg(true)] range(1..=5))] most: u8,
    #[arg(#[cfg(any())] default = 3)] least: u8,
) -> String {
    format!("{query}{most}{least}")
}

/// Is old.
#[tool(external, output = u8, allow(undescribed))]
#[deprecated = "use another"]
#[allow(deprecated)]
struct Old {
    times: u8,
}

#[deprecated = "use another"]
const fn old_default() -> u8 {
    3
}

/// Has an old default.
#[tool(allow(undescribed), #[expect(unused_parens)] approval = when(|input| (input.times > 3)))]
fn repeat(#[arg(#[allow(deprecated)] default = old_default())] times: u8) -> u8 {
    times
}

fn any(value: Option<u8>, _: BookHour<'_>) -> Validation<u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

fn after_hour(value: Option<u8>, cx: BookSeats<'_>) -> Validation<u8> {
    value.map_or_else(|| Validation::reject("missing"), |value| Validation::accept(value + cx.hour))
}

/// Book.
#[tool(allow(undescribed))]
struct Book {
    #[dynamic(#[cfg(not(any()))] validate = any, #[cfg(any())] nothing)]
    hour: u8,
    #[dynamic(validate = after_hour, requires(#[cfg(any())] missing, #[cfg(not(any()))] hour))]
    seats: u8,
}

impl Execute for Book {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.hour + self.seats)
    }
}

/// Nested.
#[derive(DynamicInput)]
#[dynamic_input(#[cfg(any())] nothing, allow(undescribed))]
struct Inner {
    #[dynamic(#[cfg(not(any()))] validate = inner, #[cfg(any())] nothing)]
    #[arg(#[cfg(any())] range(9..), #[cfg(not(any()))] range(..9))]
    times: u8,
}

fn inner(value: Option<u8>, _: InnerTimes<'_>) -> Validation<u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Take.
#[tool(allow(undescribed))]
fn take(#[dynamic(nested)] inner: Inner) -> u8 {
    inner.times
}

struct Shop;

#[tools(#[cfg(any())] nothing, #[cfg(not(any()))] allow(undescribed))]
impl Shop {
    /// See.
    #[tool(#[cfg(any())] nothing, #[cfg(not(any()))] effect = read_only)]
    fn see(&self, times: u8) -> u8 {
        times
    }

    #[cfg_attr(not(any()), doc = "Hear.")]
    #[cfg_attr(not(any()), tool)]
    #[cfg_attr(any(), tool(nothing))]
    fn hear(&self, times: u8) -> u8 {
        times
    }

    /// Is not there.
    #[tool]
    #[cfg_attr(not(any()), cfg(any()))]
    fn feel(&self, missing: Missing) -> Missing {}

    /// Is no tool.
    #[cfg_attr(any(), tool)]
    fn rest(&self) -> u8 {
        3
    }
}

#[derive(Calls)]
#[calls(#[cfg(any())] nothing, #[cfg(not(any()))] crate = ::tool_runtime)]
enum Call {
    #[cfg(any())]
    Missing(TypedCall<Missing>),
    #[allow(deprecated)]
    Look(TypedCall<look>),
}

#[test]
fn entries_of_toolset_can_be_left_out() {
    let tools = toolset!(
        /// Is always here.
        look,
        #[cfg(any())]
        missing,
        #[cfg(not(any()))]
        #[expect(deprecated)]
        Old,
        #[cfg_attr(not(any()), cfg(any()))]
        missing::missing,
        #[cfg_attr(any(), cfg(any()))]
        repeat,
        #[cfg(any())]
        look,
        #[cfg(any())]
        look,
        #[allow(unused_qualifications, reason = "tests the syntax")]
        self::Book,
        take,
    );
    assert_eq!(tools.names().collect::<Vec<_>>(), ["look", "Old", "repeat", "Book", "take"]);
    assert_eq!(
        toolset!(
            #[cfg(any())]
            missing
        )
        .names()
        .count(),
        0
    );
    assert_eq!(
        toolset!(
            #[cfg(any())]
            missing,
            look
        )
        .names()
        .collect::<Vec<_>>(),
        ["look"]
    );
    assert_eq!(Shop.toolset().names().collect::<Vec<_>>(), ["see", "hear"]);
    assert_eq!(Shop.rest(), 3);
    assert!(matches!(Call::NAMES, ["look"]));
}

#[test]
fn options_can_be_left_out() {
    let tools = toolset!(look, take).merge(Shop.toolset()).unwrap();
    let spec = |name: &str| tools.get(name).unwrap().spec();
    let look = spec("look");
    assert_eq!(look.options.effect, Effect::ReadOnly);
    assert_eq!((look.title.as_deref(), look.options.timeout), (Some("Look"), None));
    let input = look.input.neutral();
    assert_eq!(input["required"].as_array().unwrap().len(), 2);
    assert_eq!(input["properties"]["most"]["maximum"], 5);
    assert_eq!(spec("see").options.effect, Effect::ReadOnly);
    assert_eq!(spec("hear").description, "Hear.");
    let inner = &spec("take").input.neutral()["properties"]["inner"];
    assert_eq!(inner["properties"]["times"]["exclusiveMaximum"], 9);
}

//! Parameters with `#[cfg]`.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tool_runtime::{Context, Execute, Tool, Toolset, tool, tools, toolset};

/// Look something up.
#[tool(allow(undescribed))]
fn look(
    query: String,
    #[cfg(any())] missing: Missing,
    #[cfg(not(any()))]
    #[arg(default = 3)]
    most: u8,
    #[cfg_attr(not(any()), arg(range(1..=5)))]
    #[cfg_attr(any(), arg(nothing))]
    pages: u8,
    #[cfg(not(any()))]
    #[context]
    cx: &Context,
) -> String {
    #[cfg(any())]
    let _ = missing;
    format!("{query}{most}{pages}{}", cx.call_id())
}

/// Count.
#[tool(allow(undescribed))]
struct Count {
    #[cfg(any())]
    missing: Missing,
    #[cfg(not(any()))]
    from: u8,
}

impl Execute for Count {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(self.from)
    }
}

/// Do one of these.
#[tool(allow(undescribed))]
enum Either {
    One {
        #[cfg(any())]
        missing: Missing,
        from: u8,
    },
    #[cfg(any())]
    Missing { missing: Missing },
    #[cfg(not(any()))]
    Two,
}

impl Execute for Either {
    type Output = u8;
    type Error = std::convert::Infallible;

    async fn execute(self, _: &Context) -> Result<u8, Self::Error> {
        Ok(match self {
            Self::One { from } => from,
            Self::Two => 2,
        })
    }
}

struct Shop;

#[tools]
impl Shop {
    /// Look.
    #[tool(allow(undescribed))]
    fn look(&self, #[cfg(any())] missing: Missing, #[cfg(not(any()))] most: u8) -> u8 {
        most
    }

    /// Count.
    #[tool]
    fn count(&self) -> u8 {
        3
    }
}

fn names(tools: &Toolset, name: &str) -> Vec<String> {
    let spec = tools.get(name).unwrap().spec();
    spec.input.neutral()["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn works() {
    let tools = toolset!(look, Count, Either);
    assert_eq!(names(&tools, "look"), ["query", "most", "pages"]);
    assert_eq!(names(&tools, "Count"), ["from"]);
    assert_eq!(look::NAME, "look");
    let shop = Shop.toolset();
    assert_eq!(shop.names().collect::<Vec<_>>(), ["look", "count"]);
    assert_eq!(names(&shop, "look"), ["most"]);
}

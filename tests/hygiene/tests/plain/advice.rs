//! Each warning can be allowed by its name, on one tool or on all tools of an impl.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tool_runtime::{DynamicInput, Validation, tool, tools, toolset};

/// Look something up.
#[tool(allow(undescribed, ignored_arguments), approval = when(|_| true))]
fn look(query: String) -> String {
    query
}

/// Looks at what it is asked about.
#[tool(approval = when(|input| format!("{input:?}").len() > 3 || input.length > 3), allow(undescribed))]
#[allow(unused)]
fn measure(length: u8) -> u8 {
    length
}

impl std::fmt::Debug for measure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.length.fmt(out)
    }
}

struct Shop;

#[tools(allow(undescribed))]
impl Shop {
    /// Count.
    #[tool]
    fn count(&self, from: u8) -> u8 {
        from
    }
}

#[derive(DynamicInput)]
#[dynamic_input(allow(undescribed))]
struct Leg {
    #[dynamic(validate = city)]
    city: String,
}

fn city(value: Option<String>, _: LegCity<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Travel.
#[tool(allow(undescribed))]
fn travel(#[dynamic(nested)] leg: Leg) -> String {
    leg.city
}

#[test]
fn works() {
    let _ = (Shop.toolset(), toolset!(look, measure, travel));
}

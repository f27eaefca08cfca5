//! Tools of any visibility, with private types, in modules and in function bodies.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use tool_runtime::{Tool, tool, tools, toolset};

/// A module.
pub mod inner {
    use tool_runtime::{tool, toolset};

    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(crate) struct Private(u8);

    /// Takes a private type.
    #[tool(allow(undescribed))]
    pub(crate) async fn private(value: Private) -> Private {
        value
    }

    /// A public tool.
    #[tool(allow(undescribed))]
    pub fn public(value: u8) -> u8 {
        value
    }

    /// A shop.
    pub struct Shop(pub u8);

    pub mod deeper {
        //! A module in it.
        use tool_runtime::tool;

        /// For the parent.
        #[tool]
        pub(in crate::visibility::inner) fn restricted() -> u8 {
            3
        }
    }

    pub(crate) fn tools() -> tool_runtime::Toolset {
        toolset!(private, public, deeper::restricted)
    }
}

#[tools]
impl inner::Shop {
    /// Look.
    #[tool(allow(undescribed))]
    pub fn look(&self, by: u8) -> u8 {
        self.0 + by
    }

    /// Itself, in many ways.
    #[tool(approval = when(|input| input.times > Self::MOST), allow(undescribed))]
    fn times(&self, #[arg(default = Self::MOST)] times: u8) -> Vec<u8> {
        vec![self.0; times.into()]
    }

    const MOST: u8 = 3;
}

#[test]
fn works() {
    /// In a function.
    #[tool(allow(undescribed))]
    fn local(value: u8) -> u8 {
        value
    }
    {
        /// In a block.
        #[tool]
        async fn local() -> u8 {
            3
        }
        assert_eq!(local::NAME, "local");
        let _ = toolset!(local);
    }
    assert_eq!(local(3), 3);
    assert_eq!(toolset!(local).merge(inner::tools()).map(|tools| tools.names().count()), Ok(4));
    assert_eq!(inner::Shop(3).toolset().names().collect::<Vec<_>>(), ["look", "times"]);
}

//! Tools that macros write.

use tool_runtime::{Context, Execute, Toolset, tool, tools, toolset};

macro_rules! getter {
    ($(#[$attr:meta])* $vis:vis fn $name:ident($param:ident: $ty:ty = $default:expr) -> $out:ty $body:block, $doc:expr) => {
        $(#[$attr])*
        #[doc = $doc]
        #[tool(effect = read_only)]
        $vis fn $name(
            #[doc = concat!("About ", stringify!($param), ".")]
            #[arg(default = $default)]
            $param: $ty,
            #[context] cx: &Context,
        ) -> $out {
            debug_assert!(!cx.call_id().is_empty());
            $body
        }
    };
}

getter!(#[must_use] pub fn get_count(count: u32 = 3) -> u32 { count }, "Gets a count.");
getter!(pub(crate) fn get_names(names: Vec<String> = Vec::new()) -> usize { names.len() }, concat!("Gets ", "names."));

macro_rules! structure {
    ($name:ident { $($field:ident: $ty:ty),* } -> $out:ty = |$this:ident| $value:expr) => {
        /// A struct.
        #[tool]
        struct $name {
            $(
                /// A field.
                $field: $ty,
            )*
        }

        impl Execute for $name {
            type Output = $out;
            type Error = std::convert::Infallible;

            async fn execute(self, _: &Context) -> Result<$out, Self::Error> {
                let $this = self;
                Ok($value)
            }
        }
    };
}

structure!(Sum { a: u8, b: Option<u8> } -> u8 = |sum| sum.a.wrapping_add(sum.b.unwrap_or_default()));

macro_rules! shop {
    ($shop:ident { $($method:ident($param:ident: $ty:ty) -> $out:ty $body:block)* }) => {
        /// A shop.
        #[derive(Clone, Copy, Debug)]
        pub struct $shop;

        #[tools]
        impl $shop {
            $(
                /// A method.
                #[tool]
                fn $method(
                    &self,
                    /// A parameter.
                    $param: $ty,
                ) -> $out $body
            )*
        }
    };
}

shop!(Shop {
    look(what: String) -> String { what }
    count(what: u8) -> u8 { what }
});

macro_rules! set {
    ($state:expr; $($tool:ident)*) => { toolset!($state; $($tool),*) };
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    set!(Shop; get_count get_names Sum).merge(Shop.toolset()).unwrap_or_default()
}

tool_runtime::lint_test!(made_by_macros: all());

//! Tools that are written by a macro, and tools in macros of macros.
#![deny(warnings)]
#![allow(deprecated)]
#![forbid(unsafe_code)]

use tool_runtime::{Context, Execute, Failure, tool, tools, toolset};

macro_rules! getter {
    ($name:ident, $struct:ident, $ty:ty, $param:ident, $doc:literal, $default:expr) => {
        #[doc = $doc]
        #[tool(effect = read_only, description = $doc)]
        async fn $name(
            #[doc = $doc]
            #[arg(default = $default)]
            $param: $ty,
            #[context] cx: &Context,
        ) -> $ty {
            let _ = cx;
            $param
        }

        #[doc = $doc]
        #[tool]
        struct $struct {
            $param: $ty,
        }

        impl Execute for $struct {
            type Output = $ty;
            type Error = Failure;

            async fn execute(self, _: &Context) -> Result<$ty, Failure> {
                Ok(self.$param)
            }
        }
    };
}

getter!(get_count, GetCount, u32, count, "Gets a count.", 3);
getter!(get_names, GetNames, Vec<String>, names, "Gets names.", vec!["a".to_owned()]);

macro_rules! shop {
    ($shop:ident { $($method:ident($param:ident: $ty:ty) $body:block)* }) => {
        struct $shop;

        #[tools]
        impl $shop {
            $(
                /// A method.
                #[tool]
                async fn $method(&self, $param: $ty) -> $ty $body
            )*
        }
    };
}

shop!(Shop {
    look(what: String) { what }
    count(what: u8) { what }
});

macro_rules! set {
    ($state:expr; $($tool:ident)*) => { toolset!($state; $($tool),*) };
}

fn main() {
    assert_eq!(set!(Shop; get_count GetCount get_names GetNames).names().count(), 4);
    assert_eq!(Shop.toolset().names().collect::<Vec<_>>(), ["look", "count"]);
}

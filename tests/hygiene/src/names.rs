//! Tools whose parameters, state and fields have any name, also the names that expansions use.
#![allow(clippy::similar_names, clippy::used_underscore_binding, reason = "the names are the cases")]

use tool_runtime::{Context, DynamicInput, Rejection, Toolset, Validation, tool, toolset};

macro_rules! takes {
    ($tool:ident: $($name:ident)*) => {
        /// Takes parameters with names of all kinds.
        #[tool(effect = read_only)]
        async fn $tool(
            $(
                /// One of them.
                #[arg(default = 1, range(0..=9), example = 2)]
                $name: u8,
            )*
            #[state] state0: &u16,
            #[context] _call_cx: &Context,
        ) -> Vec<u8> {
            debug_assert!(*state0 < 9);
            vec![$($name),*]
        }
    };
}

takes!(of_expansions: __rt __work __start __fields __when __touches __hooks __def __s __x a b s t _input _cx _state _text
    _node _given _known _states _refused _all _slot0 _parts _variant _work _started slot0 state1 marker undescribed);
takes!(of_values: value values context cx ok err some none input output result error state tool tools toolset args field fields
    def name names description schema options text json call calls);
takes!(of_words: self_ this crate_ core std alloc tool_runtime serde schemars option vec string boxed future poll pin send
    sync clone copy default debug display from into iter drop u8 str bool usize isize f64 char);
takes!(of_keywords: r#type r#match r#fn r#async r#await r#dyn r#try r#gen r#move r#ref r#mut r#in r#loop r#where r#use r#impl
    r#struct r#enum r#trait r#mod r#const r#static r#let r#if r#else r#for r#while r#return r#break r#continue r#true r#false);

/// Has dynamic parameters.
#[tool(check = whole)]
fn judged(
    /// A.
    #[dynamic(validate = any)]
    value: u8,
    /// B.
    #[dynamic(validate = any, requires(value))]
    known: u8,
    /// C.
    #[dynamic(validate = any, after(known), hints(r#type))]
    call: u8,
    /// D.
    #[dynamic(validate = any)]
    reported: u8,
    /// E.
    r#type: u8,
    /// F.
    #[dynamic(nested)]
    state: Inner,
) -> u8 {
    value + known + call + reported + r#type + state.input + state.judge
}

/// A nested type.
#[derive(Clone, Copy, Debug, DynamicInput)]
pub struct Inner {
    /// G.
    #[dynamic(validate = any)]
    pub input: u8,
    /// H.
    #[dynamic(validate = any, requires(input))]
    pub judge: u8,
}

fn any<C>(value: Option<u8>, _: C) -> Validation<u8> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

async fn whole(input: &judged, known: JudgedCheck<'_>) -> Result<(), Rejection> {
    std::future::ready(()).await;
    if input.value > 9 { Err(Rejection::from_message(known.call().call_id())) } else { Ok(()) }
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    toolset!(3_u16; of_expansions, of_values, of_words, of_keywords, judged)
}

/// Has the name of a crate.
#[tool]
fn serde() {}

/// Has the name of another crate.
#[tool]
fn futures_core() {}

/// Returns tools with the names of crates, and of a variable in this function.
#[must_use]
pub fn crates(serde: u8) -> Toolset {
    debug_assert!(serde < 9);
    toolset!(serde, futures_core)
}

tool_runtime::lint_test!(all());

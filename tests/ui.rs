//! What the macros say about mistakes, word for word. `TRYBUILD=overwrite cargo test -p tool-tests --test ui` pins it anew.

// STABLE: the texts are those of the compiler in rust-toolchain.toml.
#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    for area in ["option", "name", "param", "type", "toolset", "item", "dynamic", "output", "advice"] {
        cases.compile_fail(format!("ui/{area}/*.rs"));
    }
    cases.pass("ui/pass/*.rs");
}

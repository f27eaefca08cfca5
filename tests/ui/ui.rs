//! The messages of the macros about mistakes, word for word. `scripts/bless ui [CASE]` rewrites them.

#[test]
#[cfg_attr(not(pinned), ignore = "the texts are those of the compiler in rust-toolchain.toml")]
fn ui() {
    let cases = trybuild::TestCases::new();
    for area in ["advice", "dynamic", "evidence", "item", "name", "option", "output", "param", "toolset", "type"] {
        cases.compile_fail(format!("{area}/*.rs"));
    }
}

//! What the macros say about mistakes, word for word. `TRYBUILD=overwrite cargo test -p tool-ui` pins it anew, one case with
//! `-- ui trybuild=NAME`.

// STABLE: the texts are those of the compiler in rust-toolchain.toml.
#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    for area in ["advice", "dynamic", "item", "name", "option", "output", "param", "toolset", "type"] {
        cases.compile_fail(format!("{area}/*.rs"));
    }
}

#[test]
fn passes() {
    trybuild::TestCases::new().pass("pass/*.rs");
}

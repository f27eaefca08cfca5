//! Compares a toolset's types with those in `tests/clients/types`, which `scripts/frontend` compiles with the real compiler.

use std::{env, fs, path::Path};

use tool_runtime::Toolset;

/// Compares the types of `tools` with `clients/types/generated/<name>.ts`. With `BLESS=1`, writes that file.
///
/// # Panics
///
/// If they differ.
pub fn check(name: &str, tools: &Toolset) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/types/generated").join(format!("{name}.ts"));
    let types = tool_server::typescript(tools);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, types).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == types,
        "{} is not current: `scripts/bless types` writes it, and `scripts/frontend check` compiles it",
        path.display()
    );
}

#!/usr/bin/env bash
# Expected: 2.01 is a multiple of 0.01, because its decimal digits say so, and 2.015 is none.
# What happens: the crate jsonschema 0.46.10 reads 2.01 and 4.02 as no multiples of 0.01, but 1.1 and 19.99 as ones. 0.60.2 is right.
# A call with such a price would be refused, so our validator compares decimal digits.
#
#   tests/peers/jsonschema-multiples.sh     # needs cargo, and the network; fails when the behaviour changes
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat >"$folder/Cargo.toml" <<'TOML'
[package]
name = "multiples"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
serde_json = "1"
earlier = { package = "jsonschema", version = "=0.46.10", default-features = false }
later = { package = "jsonschema", version = "=0.60.2", default-features = false }
TOML
cat >"$folder/src/main.rs" <<'RUST'
use serde_json::json;

fn main() {
    let schema = json!({ "multipleOf": 0.01 });
    let mut found = Vec::new();
    for (value, expected) in [(1.0, true), (1.1, true), (2.01, true), (4.02, true), (2.015, false), (19.99, true)] {
        let value = json!(value);
        let answers = [earlier::is_valid(&schema, &value), later::is_valid(&schema, &value)];
        found.extend((answers[0] != expected).then(|| value.to_string()));
        assert_eq!(answers[1], expected, "0.60.2 and {value}");
        println!("{value} expected {expected}: 0.46.10 {}, 0.60.2 {}", answers[0], answers[1]);
    }
    assert_eq!(found, ["2.01", "4.02"], "the behaviour of 0.46.10 has changed");
}
RUST
CARGO_TARGET_DIR=$folder/target cargo run -q --manifest-path "$folder/Cargo.toml"

//! What a release promises: licences that allow it, and the oldest compiler that it says.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::Value;

use super::{report, root};

/// Every package that is built on this platform, with all features: from Cargo, which fetches what the tests were built without.
fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc says where it runs");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["metadata", "--locked", "--format-version", "1", "--all-features"]);
    let output = cargo.args(["--filter-platform", host]).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(all["packages"].take()).unwrap()
}

/// The licences that `deny.toml` allows.
fn allowed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = text.split_once("\nallow = [").expect("deny.toml has a list").1.split(']').next().unwrap();
    list.split(',').map(|word| word.trim().trim_matches('"').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Whether somebody who accepts `allowed` may use what is under `licence`, an SPDX expression: `AND` binds tighter than `OR`.
fn permits(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let text = licence.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let (permits, rest) = either(&words, allowed);
    assert!(rest.is_empty(), "`{licence}` is not understood");
    permits
}

fn either<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut permits, mut rest) = both(words, allowed);
    while let ["OR", more @ ..] = rest {
        let (other, left) = both(more, allowed);
        (permits, rest) = (permits || other, left);
    }
    (permits, rest)
}

fn both<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut permits, mut rest) = one(words, allowed);
    while let ["AND", more @ ..] = rest {
        let (other, left) = one(more, allowed);
        (permits, rest) = (permits && other, left);
    }
    (permits, rest)
}

fn one<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inner @ ..] => match either(inner, allowed) {
            (permits, [")", rest @ ..]) => (permits, rest),
            (_, rest) => panic!("`(` is not closed before {rest:?}"),
        },
        // An exception allows more than its licence does.
        [name, "WITH", _, rest @ ..] | [name, rest @ ..] => (allowed.contains(*name), rest),
        [] => panic!("a licence ends where one more is expected"),
    }
}

#[test]
fn dependencies_have_licences_that_allow_ours() {
    let allowed = allowed();
    assert!(permits("(MIT OR GPL-3.0) AND Unicode-3.0", &allowed));
    assert!(permits("Apache-2.0 WITH LLVM-exception", &allowed));
    assert!(!permits("MIT AND GPL-3.0", &allowed));
    let broken: Vec<String> = packages()
        .iter()
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap();
            match package["license"].as_str() {
                Some(licence) if permits(licence, &allowed) => None,
                Some(licence) => Some(format!("{name}: `{licence}` is not in deny.toml")),
                None => Some(format!("{name} says nothing of its licence")),
            }
        })
        .collect();
    report(&broken);
}

/// The pinned compiler is the oldest that is promised, so that everything that is tested is tested with it.
#[test]
fn the_oldest_compiler_is_the_one_that_tests() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
        line.trim_matches([' ', '=', '"']).to_owned()
    };
    let promised = value(&read("Cargo.toml"), "rust-version");
    assert_eq!(value(&read("rust-toolchain.toml"), "channel"), format!("{promised}.0"));
    assert!(read("README.md").contains(&format!("Rust {promised}")), "README.md says which Rust it needs: {promised}");
    let number = |text: &str| -> Vec<u32> { text.split('.').take(2).map(|part| part.parse().unwrap()).collect() };
    let broken: Vec<String> = packages()
        .iter()
        .filter_map(|package| {
            let (name, needs) = (&package["name"], package["rust_version"].as_str()?);
            (number(needs) > number(&promised)).then(|| format!("{name} needs Rust {needs}, and we promise {promised}"))
        })
        .collect();
    report(&broken);
}

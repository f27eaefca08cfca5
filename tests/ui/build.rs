//! Finds out whether the compiler is the one whose texts the cases pin: `cfg(pinned)`.

use std::{env, fs, path::Path, process::Command};

fn main() {
    let pin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml");
    println!("cargo::rerun-if-changed={}", pin.display());
    println!("cargo::rustc-check-cfg=cfg(pinned)");
    let pin = fs::read_to_string(&pin).expect("the toolchain is pinned in rust-toolchain.toml");
    let pinned = pin.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"')).expect("a channel");
    let output = Command::new(env::var_os("RUSTC").expect("cargo names the compiler")).arg("--version").output();
    let version = String::from_utf8(output.expect("the compiler says its version").stdout).expect("a text");
    if version.split_whitespace().nth(1) == Some(pinned) {
        println!("cargo::rustc-cfg=pinned");
    } else {
        println!(
            "cargo::warning=the UI cases are skipped: they pin the texts of Rust {pinned}, and this is {}",
            version.trim()
        );
    }
}

//! Mistakes in the state machine that the search must find. Each is a file in `tests/mutants`.
//!
//! `scripts/mutants` plants each in a copy of the crate, and runs [`first_broken_invariant`] there.

use std::{env, fs, path::Path};

use super::{explore, pairs, touching::Touching};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Prints the first invariant that is violated. With `TOUCHING=same`, both calls write the same resource.
#[test]
#[ignore = "scripts/mutants runs it, on a copy with a mistake in it"]
fn first_broken_invariant() {
    let touching = if env::var("TOUCHING").is_ok_and(|of| of == "same") { Touching::Same } else { Touching::Nothing };
    let found = pairs().into_iter().find_map(|kinds| explore(kinds, 1, touching).violation);
    match found {
        Some((violation, path)) => {
            println!("broken: {}: {} after {path:?}", violation.invariant, violation.message);
        }
        None => println!("broken: nothing"),
    }
}

/// The original text of each mistake must occur in the sources exactly once, so that none becomes useless unnoticed.
#[test]
fn every_mistake_still_fits_the_sources() {
    let mut count = 0;
    for file in fs::read_dir(root().join("tests/mutants")).expect("the mistakes") {
        let path = file.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        let mut source = String::new();
        for part in text.split("\n<<<<<<<\n").enumerate() {
            if let (1.., part) = part {
                let (before, rest) = part.split_once("\n=======\n").expect("the text to replace");
                assert!(rest.contains(">>>>>>>"), "{}: a replacement has no end", path.display());
                let found = fs::read_to_string(root().join(&source)).expect("a source").matches(before).count();
                assert_eq!(found, 1, "{}: in {source}:\n{before}", path.display());
                count += 1;
            }
            let named = part.1.lines().rev().find_map(|line| line.strip_prefix("file: "));
            source = named.map_or(source, str::to_owned);
        }
    }
    assert!(count >= 20, "{count}");
}

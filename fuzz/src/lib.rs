//! Helpers of the fuzz targets: inputs of lines, and mutations that keep most of their JSON well-formed.

use libfuzzer_sys::fuzzer_mutate;
use tool_test_kit::mutate::{self, Random};

/// Mutates an input of lines, most of which contain JSON. Three in four mutations change the JSON of one line by its structure, with
/// parts of other lines; one in four changes bytes, as libFuzzer does by itself. Returns the new size.
pub fn mutate_lines(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random::new(u64::from(seed) << 8 | 1);
    random.below(1);
    if random.below(4) > 0
        && let Ok(text) = str::from_utf8(&data[..size])
    {
        let changed = change_lines(text, &mut random);
        if changed != text && changed.len() <= max_size {
            data[..changed.len()].copy_from_slice(changed.as_bytes());
            return changed.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
}

fn change_lines(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let at = random.below(lines.len());
    match random.below(12) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(random.below(lines.len() + 1), lines[at].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        _ => {
            let donors: Vec<_> = lines.iter().map(|line| (String::new(), json_of(line).1.to_owned())).collect();
            let (before, json) = json_of(&lines[at]);
            lines[at] = format!("{before}{}", mutate::change(json, &donors, random).replace(['\n', '\r'], " "));
        }
    }
    lines.join("\n")
}

/// Splits a line before its JSON.
fn json_of(line: &str) -> (&str, &str) {
    line.split_at(line.find(['{', '[']).unwrap_or(line.len()))
}

/// Returns a runtime of one thread whose clock jumps to the next timer when nothing else is to be done.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime")
}

/// Returns a runtime of one thread with the system's clock.
pub fn real_time() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Prints what a target sends and receives, if the variable `SHOW` is set.
pub fn show(what: impl std::fmt::Display) {
    if std::env::var_os("SHOW").is_some() {
        println!("{what}");
    }
}

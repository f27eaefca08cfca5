//! Reading the shop's records and the recorded tasks.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::replay::Task;
use crate::store::Database;

/// The extract that comes with the example.
const EXTRACT: &str = include_str!("extract/retail.db.json");

pub(crate) fn embedded() -> io::Result<Database> {
    serde_json::from_str(EXTRACT).map_err(|error| invalid("the embedded extract", &error))
}

/// Reads `retail.db.json`, or `retail.db.json.gz`, in `folder`.
pub(crate) fn database(folder: &Path) -> io::Result<Database> {
    let (path, text) = read(folder, "retail.db.json")?;
    serde_json::from_str(&text).map_err(|error| invalid(path.display(), &error))
}

/// Reads `retail.tasks.jsonl`, or `retail.tasks.jsonl.gz`, in `folder`: a task per line.
pub(crate) fn tasks(folder: &Path) -> io::Result<Vec<Task>> {
    let (path, text) = read(folder, "retail.tasks.jsonl")?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            serde_json::from_str(line)
                .map_err(|error| invalid(format_args!("{} line {number}", path.display()), &error))
        })
        .collect()
}

/// The text of the plain file, or where there is none, of the compressed one.
fn read(folder: &Path, name: &str) -> io::Result<(PathBuf, String)> {
    let plain = folder.join(name);
    if plain.exists() {
        let text = fs::read_to_string(&plain).map_err(|error| unreadable(&plain, &error))?;
        return Ok((plain, text));
    }
    let packed = folder.join(format!("{name}.gz"));
    let mut text = String::new();
    File::open(&packed)
        .and_then(|file| GzDecoder::new(file).read_to_string(&mut text))
        .map_err(|error| unreadable(&packed, &error))?;
    Ok((packed, text))
}

fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
}

fn invalid(place: impl Display, error: &serde_json::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {error}"))
}

//! Reads real data outside of the repository. Tests that need it are ignored, and `.ci/run` runs them if the data exists.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use serde_json::Value;

/// Returns the folder of the data.
pub(crate) fn data() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    assert!(folder.is_dir(), "there is no folder {}", folder.display());
    folder
}

/// Returns the content of a JSON file.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_reader(BufReader::new(File::open(path).unwrap())).unwrap()
}

/// Returns the JSON values of a packed file, one per line.
pub(crate) fn lines(path: &Path) -> impl Iterator<Item = Value> + use<> {
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// Returns the files of a folder that end in `suffix`, in order.
pub(crate) fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(suffix));
    files.sort();
    files
}

//! Log entries as text, with the version that wrote them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Corrupt, LogEvent};

/// The version of the stored form that is written. Older ones are read.
pub const RECORD_VERSION: u32 = 1;

#[derive(Serialize)]
struct Write<'a, T: ?Sized> {
    v: u32,
    data: &'a T,
}

#[derive(Deserialize)]
struct Read<T> {
    data: T,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// Entries of a log that belong together, as one text.
pub fn encode(events: &[LogEvent]) -> String {
    write(events)
}

/// The entries of a text that [`encode`] made, in this version or an earlier one.
pub fn decode(text: &str) -> Result<Vec<LogEvent>, RecordError> {
    read(text)
}

pub(super) fn write<T: Serialize + ?Sized>(data: &T) -> String {
    // Nothing here has keys that are not texts, so there is nothing that could fail.
    serde_json::to_string(&Write { v: RECORD_VERSION, data }).unwrap_or_default()
}

/// The version comes first: what a newer one wrote is not even looked at.
pub(super) fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, RecordError> {
    let malformed = |error: serde_json::Error| RecordError::Malformed(error.to_string());
    let v = match leading(text) {
        Some(v) => v,
        None => serde_json::from_str::<Version>(text).map_err(malformed)?.v,
    };
    match v {
        1..=RECORD_VERSION => {}
        _ => return Err(RecordError::Version(v)),
    }
    let Read { data } = serde_json::from_str(text).map_err(malformed)?;
    Ok(data)
}

/// The version where [`write`] puts it, so that a long text is not read twice.
fn leading(text: &str) -> Option<u32> {
    let (version, _) = text.strip_prefix(r#"{"v":"#)?.split_once(',')?;
    version.parse().ok()
}

/// A stored text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A version of this program wrote it that is newer than this one, or none.
    Version(u32),
    /// It is no record.
    Malformed(String),
    /// Its entries do not follow from one another.
    Corrupt(Corrupt),
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                out,
                "the run was written in version {version} of the stored form, and this program reads 1 to \
                 {RECORD_VERSION}; update it"
            ),
            Self::Malformed(error) => write!(out, "the run's record cannot be read: {error}"),
            Self::Corrupt(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<Corrupt> for RecordError {
    fn from(error: Corrupt) -> Self {
        Self::Corrupt(error)
    }
}

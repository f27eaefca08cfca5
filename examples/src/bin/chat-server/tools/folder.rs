//! Tools for a folder of files, with progress and approvals.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream::{self, Stream};
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::tool;

/// The time to check or to delete one file: 400 ms, unless a test sets another one with `LOOK_MILLIS`.
static LOOK: LazyLock<Duration> = LazyLock::new(|| {
    let millis = std::env::var("LOOK_MILLIS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(millis.unwrap_or(400))
});

/// Files by name, with their texts.
pub(crate) struct Folder(Mutex<BTreeMap<String, String>>);

impl Default for Folder {
    fn default() -> Self {
        let names =
            ["april.txt", "budget.csv", "ideas.md", "march.txt", "photo.jpg", "readme.md", "report.pdf", "todo.txt"];
        Self(Mutex::new(names.map(|name| (name.to_owned(), format!("What is in {name}."))).into()))
    }
}

impl Folder {
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A written file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Written {
    file: String,
    words: usize,
}

/// Write a note into the folder.
#[tool(title = "Write a note")]
pub(crate) fn write_note(
    /// The title of the note.
    #[arg(length(1..=60))]
    title: String,
    /// The text of the note.
    text: String,
    #[state] folder: &Folder,
) -> Written {
    let file = format!("{}.txt", title.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-"));
    let words = text.split_whitespace().count();
    folder.files().insert(file.clone(), text);
    Written { file, words }
}

/// The progress of the check.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// The files that were looked at, in order.
    files: Vec<String>,
    /// The number of all files.
    total: usize,
}

/// Check every file of the folder for damage. This takes a while.
#[tool(title = "Check the folder", effect = read_only)]
pub(crate) fn check_folder(#[state] folder: &Folder) -> impl Stream<Item = Checked> + use<> {
    let names: Vec<String> = folder.files().keys().cloned().collect();
    let total = names.len();
    stream::unfold(0, move |done| {
        let files = names.get(..done).map(<[String]>::to_vec);
        async move {
            tokio::time::sleep(*LOOK).await;
            Some((Checked { files: files?, total }, done + 1))
        }
    })
}

/// A deleted file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Deleted {
    deleted: String,
    /// The files that are left.
    left: usize,
}

/// Delete a file of the folder.
#[tool(title = "Delete a file", effect = destructive, approval = always, challenge = "Delete {name} for good?")]
pub(crate) async fn delete_file(
    /// The name of the file.
    #[arg(length(1..=100))]
    name: String,
    #[state] folder: &Folder,
) -> Result<Deleted, String> {
    tokio::time::sleep(*LOOK).await;
    let mut files = folder.files();
    files.remove(&name).ok_or_else(|| format!("there is no file called {name}"))?;
    Ok(Deleted { deleted: name, left: files.len() })
}

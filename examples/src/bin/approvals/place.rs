//! Where runs are kept.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tool_runtime::store::Store;
use tool_stores::{PostgresStore, SqliteStore};

/// Where runs are kept, and the shop's ledger.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: PathBuf,
}

/// Opens the file `path`; with `DATABASE_URL`, PostgreSQL in its place.
pub(crate) async fn open(path: Option<PathBuf>) -> Result<Place, String> {
    let path = path.unwrap_or_else(|| state_folder().join("runs.db"));
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    let ledger = path.with_extension("ledger.txt");
    let store: Arc<dyn Store> = match env::var("DATABASE_URL") {
        Ok(url) => Arc::new(PostgresStore::connect(&url).await.map_err(|error| format!("DATABASE_URL: {error}"))?),
        Err(_) => Arc::new(SqliteStore::open(&path).map_err(|error| format!("{}: {error}", path.display()))?),
    };
    Ok(Place { store, ledger })
}

fn state_folder() -> PathBuf {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")));
    state.unwrap_or_else(env::temp_dir).join("tool-approvals")
}

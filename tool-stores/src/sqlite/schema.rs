//! Opens the file, and creates or updates its tables.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::{DbError, SqliteOptions, StoreError};
use crate::convert::size;

/// The application id that marks the file as a store: "tool".
const APPLICATION: i32 = 0x746f_6f6c;

/// The statements that create each version of the tables from the previous one. Released statements never change; new versions
/// are added.
const VERSIONS: [&str; 1] = [include_str!("v1.sql")];

/// The number of prepared statements to cache, which is larger than the number of statements.
const STATEMENT_CACHE_SIZE: usize = 64;

/// The location of a database.
#[derive(Clone, Copy)]
pub enum Location<'a> {
    File(&'a Path),
    Memory,
}

/// Opens the database, and creates it if it does not exist. An error names `location`.
pub fn open(location: Location<'_>, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let name = match location {
        Location::File(path) => path.display().to_string(),
        Location::Memory => "in memory".to_owned(),
    };
    connect(location, options).map_err(|error| match error.into() {
        StoreError::Unavailable(error) => {
            StoreError::unavailable(format!("the store {name} cannot be opened: {error}"))
        }
        other => other,
    })
}

fn connect(location: Location<'_>, options: &SqliteOptions) -> Result<Connection, DbError> {
    let mut db = match location {
        // Without the flag for URIs, a path may contain any characters.
        Location::File(path) => {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?
        }
        Location::Memory => Connection::open_in_memory()?,
    };
    db.busy_timeout(options.busy_timeout)?;
    db.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    refuse_other_programs(&db)?;
    if let Location::File(_) = location {
        enable_write_ahead_log(&db, options.busy_timeout)?;
    }
    db.pragma_update(None, "synchronous", options.durability.synchronous())?;
    db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    migrate(&mut db, &VERSIONS)?;
    Ok(db)
}

/// Refuses a file of another program, before anything is changed.
fn refuse_other_programs(db: &Connection) -> Result<(), DbError> {
    // The order matters: a process that creates the tables at this moment sets the id in the same transaction.
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    match application {
        APPLICATION => Ok(()),
        0 if tables == 0 => Ok(()),
        _ => Err(StoreError::unavailable("it is a database of another program; name another file").into()),
    }
}

/// Turns the write-ahead log on. Tries again while other processes do this, because SQLite does not wait here.
fn enable_write_ahead_log(db: &Connection, busy_timeout: Duration) -> Result<(), DbError> {
    let end = Instant::now() + busy_timeout;
    let mode: String = loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)) {
            Ok(mode) => break mode,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < end => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    };
    if mode != "wal" {
        let text = format!("SQLite's write-ahead log does not work there (its mode is `{mode}`); use a local disk");
        return Err(StoreError::unavailable(text).into());
    }
    Ok(())
}

/// Creates the tables, or updates them to the last of `versions`.
fn migrate(db: &mut Connection, versions: &[&str]) -> Result<(), DbError> {
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let newest = versions.len();
    if usize::try_from(version(db)?).ok() == Some(newest) {
        return Ok(());
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // The version is read again, because another process may have created the tables meanwhile.
    let found = version(&change)?;
    let Some(missing) = usize::try_from(found).ok().and_then(|found| versions.get(found..)) else {
        let text = format!("it has version {found} of the tables, and this program knows 1 to {newest}; update it");
        return Err(StoreError::unavailable(text).into());
    };
    for sql in missing {
        change.execute_batch(sql)?;
    }
    change.pragma_update(None, "application_id", APPLICATION)?;
    change.pragma_update(None, "user_version", size(newest))?;
    change.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("tool-sqlite-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn refusal(path: &Path) -> String {
        open(Location::File(path), &SqliteOptions::new()).unwrap_err().to_string()
    }

    #[test]
    fn newer_tables_are_refused() {
        let path = file("newer.db");
        let db = open(Location::File(&path), &SqliteOptions::new()).unwrap();
        db.pragma_update(None, "user_version", size(VERSIONS.len() + 1)).unwrap();
        drop(db);
        let text = refusal(&path);
        assert!(text.contains("version 2 of the tables") && text.contains("update it"), "{text}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn older_tables_are_updated_and_keep_their_contents() {
        let path = file("older.db");
        let mut db = open(Location::File(&path), &SqliteOptions::new()).unwrap();
        db.execute_batch("INSERT INTO runs (id, owner) VALUES ('r', 'ann')").unwrap();
        let later = [VERSIONS[0], "ALTER TABLE runs ADD COLUMN later INTEGER NOT NULL DEFAULT 7"];
        for _ in 0..2 {
            migrate(&mut db, &later).unwrap();
            let row = db.query_row("SELECT id, later FROM runs", [], |row| Ok((row.get(0)?, row.get(1)?)));
            assert_eq!(row.unwrap(), ("r".to_owned(), 7));
        }
        // The program that knows only the first version refuses them.
        assert!(migrate(&mut db, &VERSIONS).is_err());
        drop(db);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_database_of_another_program_is_refused_and_left_alone() {
        let path = file("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let before = std::fs::read(&path).unwrap();
        let text = refusal(&path);
        assert!(text.contains("another program"), "{text}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_files_are_refused() {
        let path = file("text.db");
        std::fs::write(&path, "not a database, however long this text may be ".repeat(50)).unwrap();
        assert!(refusal(&path).contains("not a database"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_missing_folder_is_named() {
        let path = Path::new("/no/such/folder/runs.db");
        assert!(refusal(path).contains("/no/such/folder/runs.db"));
    }
}

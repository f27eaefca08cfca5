//! Which sealed runs were opened, in the file of the runs.

use futures_util::future::BoxFuture;
use rusqlite::{Connection, params};

use super::{Broken, Durability, SqliteStore, StoreError, write::Change};
use crate::{
    columns::signed,
    sealed::{NonceStore, kept_since},
};
use tool_runtime::run::Time;

/// Remembers which sealed runs were opened, in the same file. A nonce is on the disk before the run is opened, whatever
/// the store's [`Durability`]: one that is lost with the power could be spent again.
impl NonceStore for SqliteStore {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (nonce, durability) = (nonce.to_owned(), self.durability);
        self.writer.ask(move |db| {
            db.pragma_update(None, "synchronous", Durability::Machine.synchronous())?;
            let spent = spend(db, &nonce, expires, now);
            db.pragma_update(None, "synchronous", durability.synchronous())?;
            spent
        })
    }
}

fn spend(db: &Connection, nonce: &str, expires: Time, now: Time) -> Result<bool, Broken> {
    let change = Change::begin(db)?;
    db.prepare_cached("DELETE FROM nonces WHERE expires <= ?1")?.execute([signed(kept_since(now).0)])?;
    let row = params![nonce, signed(expires.0)];
    let is_new = db.prepare_cached("INSERT OR IGNORE INTO nonces (nonce, expires) VALUES (?1, ?2)")?.execute(row)? > 0;
    change.commit()?;
    Ok(is_new)
}

/// Reads the identity of the file.
pub fn id(db: &Connection) -> Result<String, StoreError> {
    db.query_row("SELECT id FROM identity", [], |row| row.get(0)).map_err(StoreError::unavailable)
}

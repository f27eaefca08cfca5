//! The tables in every version, and how they get there.

use deadpool_postgres::Object;
use tokio_postgres::error::SqlState;

use super::{Broken, StoreError};

/// The statements that make each version of the tables of the one before, with `@` for the schema. Never changed once
/// released, only added to.
const VERSIONS: [&str; 2] = [include_str!("v1.sql"), include_str!("v2.sql")];

/// Makes the tables, or brings them up to date. Any number of processes may do it at the same time.
pub async fn migrate(db: &mut Object, schema: &str) -> Result<(), Broken> {
    let encoding: String = db.query_one("SHOW server_encoding", &[]).await?.get(0);
    if encoding != "UTF8" {
        let text = format!("the database's encoding is {encoding}; runs need one with UTF8");
        return Err(StoreError::unavailable(text).into());
    }
    let of = |sql: &str| sql.replace('@', &format!("\"{schema}\""));
    let version = of("SELECT version FROM @.version");
    // Without rights to make tables, a store that is up to date can still be used.
    match db.query_one(&version, &[]).await {
        Ok(row) if is_newest(row.get(0))? => return Ok(()),
        Ok(_) => {}
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {}
        Err(error) => return Err(error.into()),
    }
    let change = db.transaction().await?;
    // The text of the lock's name is ours; two schemas rarely share a number, and then only wait for each other.
    let lock = format!("tool-runtime {schema}");
    change.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[&lock]).await?;
    let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if change.query_opt(exists, &[&schema]).await?.is_none() {
        change.batch_execute(&of("CREATE SCHEMA @")).await?;
    }
    change.batch_execute(&of("CREATE TABLE IF NOT EXISTS @.version (version INTEGER NOT NULL)")).await?;
    let found: i32 = change.query_opt(&version, &[]).await?.map_or(0, |row| row.get(0));
    is_newest(found)?;
    let missing = VERSIONS.iter().skip(usize::try_from(found).unwrap_or(0));
    for sql in missing {
        change.batch_execute(&of(sql)).await?;
    }
    change.batch_execute(&of("DELETE FROM @.version")).await?;
    change.execute(&of("INSERT INTO @.version VALUES ($1)"), &[&newest()]).await?;
    change.commit().await?;
    Ok(())
}

fn newest() -> i32 {
    i32::try_from(VERSIONS.len()).unwrap_or(i32::MAX)
}

/// Returns whether nothing is to be done; fails for tables of the future.
fn is_newest(found: i32) -> Result<bool, StoreError> {
    if found > newest() {
        let text = format!(
            "PostgreSQL has version {found} of the tables, and this program knows 1 to {}; update it",
            newest()
        );
        return Err(StoreError::unavailable(text));
    }
    Ok(found == newest())
}

//! Which sealed runs were opened, beside the runs.

use deadpool_postgres::Pool;
use futures_util::future::BoxFuture;

use super::{Broken, PostgresStore, StoreError, pool::connection, sql::Statements};
use crate::{
    number::signed,
    sealed::{NonceStore, kept_since, unique},
};
use tool_runtime::run::Time;

/// Remembers which sealed runs were opened, in the same schema.
impl NonceStore for PostgresStore {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            // Where the connection is lost before the answer comes, the second statement finds what the first has done.
            let claim = unique();
            self.again(|| self.claim(nonce, expires, &claim, now)).await
        })
    }
}

impl PostgresStore {
    async fn claim(&self, nonce: &str, expires: Time, claim: &str, now: Time) -> Result<bool, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.spend).await?;
        let (expires, over) = (signed(expires.0), signed(kept_since(now).0));
        Ok(db.query_opt(&statement, &[&nonce, &expires, &claim, &over]).await?.is_some())
    }
}

/// Reads the identity of the schema.
pub(super) async fn identity(pool: &Pool, sql: &Statements) -> Result<String, Broken> {
    Ok(connection(pool).await?.query_one(&sql.identity, &[]).await?.get(0))
}

//! Which sealed runs were opened, beside the runs.

use deadpool_postgres::Object;
use futures_util::future::BoxFuture;

use super::{Broken, PostgresStore, StoreError, sql};
use crate::{
    columns::signed,
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
            let (expires, over) = (signed(expires.0), signed(kept_since(now).0));
            Ok(!self.ask(sql::SPEND, &[&nonce, &expires, &claim, &over]).await?.is_empty())
        })
    }
}

/// Reads the identity of the schema.
pub async fn identity(db: &Object, schema: &str) -> Result<String, Broken> {
    Ok(db.query_one(&sql::IDENTITY.replace('@', schema), &[]).await?.get(0))
}

//! Authentication of requests.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use futures_util::future::{BoxFuture, ready};
use tool_runtime::run::Principal;

use super::{ApiError, Shared};

/// The application's authentication: finds the principal on whose behalf a request is made. It is called for every request.
///
/// Chats, approvals and sealed runs belong to the principal: no other one finds them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say who makes a request",
    label = "`Authenticate` is not implemented",
    note = "`BearerToken` asks a function about a token; implement `Authenticate` for anything else"
)]
pub trait Authenticate: Send + Sync + 'static {
    /// Returns the principal. The caller receives the error.
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Principal, ApiError>>;
}

impl<T: Authenticate + ?Sized> Authenticate for Arc<T> {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Principal, ApiError>> {
        (**self).authenticate(request)
    }
}

/// Authentication in which all callers are this one principal: for programs on one's own machine, and for tests.
#[derive(Clone, Debug)]
pub struct Everybody(pub Principal);

impl Authenticate for Everybody {
    fn authenticate<'a>(&'a self, _: &'a Parts) -> BoxFuture<'a, Result<Principal, ApiError>> {
        Box::pin(ready(Ok(self.0.clone())))
    }
}

/// Authentication by bearer token: a function finds the token's principal.
///
/// ```
/// use tool_server::{BearerToken, ApiError};
///
/// let auth = BearerToken::new(|token| (token == "s3cret").then(|| "anna".into()));
/// # let _ = auth;
/// ```
pub struct BearerToken<F>(F);

impl<F: Fn(&str) -> Option<Principal> + Send + Sync + 'static> BearerToken<F> {
    /// Returns authentication in which `find` finds the principal of a token. It should compare in constant time, or look up a
    /// digest.
    pub fn new(find: F) -> Self {
        Self(find)
    }
}

impl<F> std::fmt::Debug for BearerToken<F> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("BearerToken")
    }
}

impl<F: Fn(&str) -> Option<Principal> + Send + Sync + 'static> Authenticate for BearerToken<F> {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Principal, ApiError>> {
        let header = request.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token =
            header.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        let found = match token {
            None => Err(ApiError::unauthenticated("send `Authorization: Bearer <token>`")),
            Some((_, token)) => {
                (self.0)(token.trim()).ok_or_else(|| ApiError::unauthenticated("this token is not known"))
            }
        };
        Box::pin(ready(found))
    }
}

/// The principal on whose behalf a request is made.
pub(crate) struct Caller(pub(crate) Principal);

impl FromRequestParts<Arc<Shared>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, ApiError> {
        shared.authenticate.authenticate(parts).await.map(Self)
    }
}

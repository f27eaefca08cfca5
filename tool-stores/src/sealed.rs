//! Sealed runs: snapshots of suspended runs that their holder can neither read nor change.
//!
//! A stateless server sends a sealed run to the client, and gets the run back with the decision. The text is encrypted and
//! authenticated (XChaCha20-Poly1305). Its version and the id of the key are not encrypted. Its audience, its principal and its
//! expiry are.
//!
//! A client can send the same text twice. With an approval each time, the call would run twice. So [`Sealer::new`] makes the
//! caller choose between a store of spent nonces ([`ReplayPolicy::Refuse`]) and [`ReplayPolicy::Allow`]. The store must last as
//! long as the keys: use a `SqliteStore` or a `PostgresStore` (see [`store`](tool_runtime::store)), or [`MemoryNonces`] for
//! keys of one process. With `Refuse`, a text opens only with the nonce store that was in use when it was sealed.
//!
//! ```
//! use std::sync::Arc;
//! use tool_runtime::run::{Principal, Run, RunId, RunOptions, Timestamp};
//! use tool_stores::sealed::{Key, Keyring, MemoryNonces, ReplayPolicy, SealError, Sealer};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let ring = Keyring::new("process", Key::random());
//! let sealer = Sealer::new(ring, "airline-desk", ReplayPolicy::Refuse(Arc::new(MemoryNonces::new())));
//!
//! let anna = Principal::from("anna");
//! let (run, _) = Run::new(RunId::from("r1"), anna.clone(), RunOptions::default(), Vec::new(), Timestamp(0));
//! let text = sealer.seal(&run, &anna, Timestamp(1_000)).unwrap();
//! let run = sealer.open(&text, &anna, Timestamp(2_000)).await.unwrap();
//! assert_eq!(run.id().as_str(), "r1");
//! assert!(matches!(sealer.open(&text, &anna, Timestamp(3_000)).await, Err(SealError::Replayed)));
//! # });
//! ```

use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64},
};
use chacha20poly1305::{
    AeadCore, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, OsRng, Payload},
};
use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};

use tool_run::run::RecordError;
use tool_runtime::run::{Principal, Run, Timestamp};
use tool_runtime::store::StoreError;

const VERSION: &str = "tool-run-1";

/// The default of [`Sealer::max_bytes`]: the maximum size of a sealed text, in bytes.
pub const DEFAULT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// The default of [`Sealer::lifetime`]: a week.
pub const DEFAULT_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// A sealer, which seals suspended runs and opens them again.
#[derive(Clone, Debug)]
pub struct Sealer {
    ring: Keyring,
    audience: String,
    replay: ReplayPolicy,
    lifetime: Duration,
    max_bytes: usize,
}

/// The contents of a sealed text.
#[derive(Serialize, Deserialize)]
struct Contents {
    audience: String,
    principal: Principal,
    expires: Timestamp,
    /// The id of the nonce store that remembers whether the text was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonces: Option<String>,
    /// The nonce of an earlier text that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spends: Option<String>,
    run: String,
}

/// An opening of a sealed text that is not spent yet. [`Sealer::peek`] returns it, and [`Sealer::spend`] spends it.
#[derive(Clone, Debug)]
pub struct PendingOpening {
    nonce: String,
    expires: Timestamp,
    principal: Principal,
}

impl Sealer {
    /// Creates a sealer for `audience`, the name of the application that opens the texts. The sealer seals with the current key
    /// of `ring`, and opens with any key of `ring`.
    pub fn new(ring: Keyring, audience: impl Into<String>, replay: ReplayPolicy) -> Self {
        let audience = audience.into();
        Self { ring, audience, replay, lifetime: DEFAULT_LIFETIME, max_bytes: DEFAULT_MAX_BYTES }
    }

    /// Sets the time for which a sealed text is valid.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum size of a sealed text, in bytes.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Seals `run` for `principal`. The text is URL-safe.
    ///
    /// Fails when the text is larger than [`Sealer::max_bytes`].
    pub fn seal(&self, run: &Run, principal: &Principal, now: Timestamp) -> Result<String, SealError> {
        self.seal_as(run, principal, now.saturating_add(self.lifetime), None)
    }

    /// Seals `run` in place of a text whose `opening` is not spent. Both texts share the opening, so only one of them can be
    /// spent. The new text expires when the old one does.
    ///
    /// Fails when the text is larger than [`Sealer::max_bytes`].
    pub fn seal_again(&self, run: &Run, principal: &Principal, opening: &PendingOpening) -> Result<String, SealError> {
        self.seal_as(run, principal, opening.expires, Some(opening.nonce.clone()))
    }

    fn seal_as(
        &self,
        run: &Run,
        principal: &Principal,
        expires: Timestamp,
        spends: Option<String>,
    ) -> Result<String, SealError> {
        let (audience, principal) = (self.audience.clone(), principal.clone());
        let nonces = self.replay.nonce_store_id().map(str::to_owned);
        let contents = Contents { audience, principal, expires, nonces, spends, run: run.freeze() };
        let text = serde_json::to_vec(&contents).map_err(|error| SealError::Malformed(error.to_string()))?;
        let (id, key) = self.ring.current();
        let header = format!("{VERSION}.{}", BASE64.encode(id));
        let nonce = XChaCha20Poly1305::generate_nonce(&mut OsRng);
        let payload = Payload { msg: &text, aad: header.as_bytes() };
        let sealed =
            key.cipher().encrypt(&nonce, payload).map_err(|_| SealError::TooLarge { limit: self.max_bytes })?;
        let text = format!("{header}.{}.{}", BASE64.encode(nonce), BASE64.encode(sealed));
        if text.len() > self.max_bytes {
            return Err(SealError::TooLarge { limit: self.max_bytes });
        }
        Ok(text)
    }

    /// Opens and spends a text that was sealed for `principal`. The application must have authenticated the principal.
    ///
    /// Fails when the text has expired, was changed, is too large, or has an unknown key, or another version, audience or
    /// principal. Fails when its run cannot be read. With [`ReplayPolicy::Refuse`], also fails when the text was opened before
    /// or has another nonce store, or when that store does not answer.
    pub async fn open(&self, text: &str, principal: &Principal, now: Timestamp) -> Result<Run, SealError> {
        let (run, opening) = self.peek(text, principal, now)?;
        self.spend(&opening, now).await?;
        Ok(run)
    }

    /// Opens a text without spending it, to inspect its run. The caller spends it ([`Sealer::spend`]) before the first effect
    /// that must not happen twice.
    ///
    /// Fails like [`Sealer::open`], except that a text that was opened before is no error.
    pub fn peek(&self, text: &str, principal: &Principal, now: Timestamp) -> Result<(Run, PendingOpening), SealError> {
        let (nonce, contents) = self.unseal(text)?;
        if contents.audience != self.audience {
            return Err(SealError::Audience);
        }
        if contents.principal != *principal {
            return Err(SealError::Forbidden);
        }
        if contents.expires <= now {
            return Err(SealError::Expired { at: contents.expires });
        }
        if let ReplayPolicy::Refuse(nonces) = &self.replay
            && contents.nonces.as_deref() != nonces.id()
        {
            return Err(SealError::Forgotten);
        }
        let run = Run::thaw(&contents.run)?;
        let nonce = contents.spends.unwrap_or_else(|| BASE64.encode(nonce));
        Ok((run, PendingOpening { nonce, expires: contents.expires, principal: contents.principal }))
    }

    /// Spends an opening. Has no effect if the sealer allows replay.
    ///
    /// Fails when the opening was spent before, or when the nonce store does not answer. Then the caller must not use the run.
    pub async fn spend(&self, opening: &PendingOpening, now: Timestamp) -> Result<(), SealError> {
        let ReplayPolicy::Refuse(nonces) = &self.replay else { return Ok(()) };
        let PendingOpening { nonce, expires, principal } = opening;
        if nonces.spend_of(principal, nonce, *expires, now).await? { Ok(()) } else { Err(SealError::Replayed) }
    }

    /// Decrypts a text, after checking its version and size.
    fn unseal(&self, text: &str) -> Result<(XNonce, Contents), SealError> {
        let malformed = |reason: &str| SealError::Malformed(reason.to_owned());
        let (version, rest) = text.split_once('.').unwrap_or((text, ""));
        if version != VERSION {
            return Err(SealError::Version(version.chars().take(32).collect()));
        }
        if text.len() > self.max_bytes {
            return Err(SealError::TooLarge { limit: self.max_bytes });
        }
        let [id, nonce, sealed] = rest.split('.').collect::<Vec<_>>()[..] else {
            return Err(malformed("it does not have four parts"));
        };
        let decode = |part: &str| BASE64.decode(part).map_err(|_| malformed("a part is not base64"));
        let header = format!("{VERSION}.{id}");
        let id = String::from_utf8(decode(id)?).map_err(|_| malformed("the key's id is not UTF-8"))?;
        let key = self.ring.get(&id).ok_or(SealError::UnknownKey)?;
        let nonce: [u8; 24] = decode(nonce)?.try_into().map_err(|_| malformed("the nonce does not have 24 bytes"))?;
        let nonce = XNonce::from(nonce);
        let payload = Payload { msg: &decode(sealed)?, aad: header.as_bytes() };
        let opened = key.cipher().decrypt(&nonce, payload).map_err(|_| SealError::Forged)?;
        let contents = serde_json::from_slice(&opened).map_err(|error| SealError::Malformed(error.to_string()))?;
        Ok((nonce, contents))
    }
}

/// The reason why a run was not sealed, or a text not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum SealError {
    /// The text has another version, or is not a sealed run.
    Version(String),
    /// The text is, or would be, too large.
    TooLarge {
        /// The maximum size, in bytes.
        limit: usize,
    },
    /// The text does not have the form of a sealed run.
    Malformed(String),
    /// The text was sealed with a key that is not on the ring.
    UnknownKey,
    /// The text was changed, or another party sealed it.
    Forged,
    /// The text is for another application.
    Audience,
    /// The text is for another principal.
    Forbidden,
    /// The text has expired.
    Expired {
        /// The time of expiry.
        at: Timestamp,
    },
    /// The text was opened before.
    Replayed,
    /// The text was sealed with another nonce store, such as the [`MemoryNonces`] of a process that has ended. So it may have
    /// been opened before.
    Forgotten,
    /// The run in the text cannot be read.
    Record(RecordError),
    /// The nonce store failed, so it is not known whether the text was opened before.
    Store(StoreError),
}

impl fmt::Display for SealError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(out, "not a sealed run of a known version: `{}`", version.escape_default())
            }
            Self::TooLarge { limit } => {
                write!(out, "a sealed run has at most {limit} bytes; keep larger ones in a store")
            }
            Self::Malformed(reason) => write!(out, "the sealed run is damaged: {reason}"),
            Self::UnknownKey => out.write_str("the run was sealed with an unknown key; add the key to the `Keyring`, or begin a new run"),
            Self::Forged => out.write_str("the sealed run was changed, or sealed by another party"),
            Self::Audience => out.write_str("the run was sealed for another application"),
            Self::Forbidden => out.write_str("the run was sealed for another principal"),
            Self::Expired { .. } => out.write_str("the sealed run is too old; begin again"),
            Self::Replayed => out.write_str("the sealed run was used before, and each can be used once; send a new message"),
            Self::Forgotten => out.write_str(
                "the run was sealed when another nonce store was in use, so it may have been opened before; begin again. \
                 Where sealed runs must survive a restart, keep nonces in SQLite or PostgreSQL",
            ),
            Self::Record(error) => error.fmt(out),
            Self::Store(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SealError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text has that of the error inside.
        match self {
            Self::Record(error) => error.source(),
            Self::Store(error) => error.source(),
            _ => None,
        }
    }
}

impl From<RecordError> for SealError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<StoreError> for SealError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A key of 32 bytes. `Debug` does not show it.
#[derive(Clone)]
pub struct Key(XChaCha20Poly1305);

impl Key {
    /// Creates a key from its bytes, which must be random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&bytes.into()))
    }

    /// Creates a random key for one process. No other process can open its texts.
    pub fn random() -> Self {
        Self(XChaCha20Poly1305::new(&XChaCha20Poly1305::generate_key(&mut OsRng)))
    }

    /// Returns the bytes of a new random key in base64, for a secret store.
    pub fn generate_base64() -> String {
        STANDARD.encode(XChaCha20Poly1305::generate_key(&mut OsRng))
    }

    /// Reads a key from a text of [`Key::generate_base64`].
    ///
    /// Fails when `text` is not the base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, KeyError> {
        let bytes: Result<[u8; 32], _> = STANDARD.decode(text.trim()).map_err(|_| KeyError)?.try_into();
        bytes.map(Self::from_bytes).map_err(|_| KeyError)
    }

    fn cipher(&self) -> &XChaCha20Poly1305 {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Key")
    }
}

/// The error for a text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key is the base64 of 32 random bytes, such as `openssl rand -base64 32` prints")
    }
}

impl std::error::Error for KeyError {}

/// Keys by id. The current key seals texts, and all keys open them, so that keys can be rotated while clients hold texts.
#[derive(Clone, Debug)]
pub struct Keyring {
    current: (String, Key),
    older: Vec<(String, Key)>,
}

impl Keyring {
    /// Creates a ring with one key. Sealed texts contain the id without encryption.
    pub fn new(id: impl Into<String>, key: Key) -> Self {
        Self { current: (id.into(), key), older: Vec::new() }
    }

    /// Adds an older key, which only opens texts. A key whose id is already on the ring is never used.
    pub fn with_older(mut self, id: impl Into<String>, key: Key) -> Self {
        self.older.push((id.into(), key));
        self
    }

    fn current(&self) -> (&str, &Key) {
        (&self.current.0, &self.current.1)
    }

    fn get(&self, id: &str) -> Option<&Key> {
        let mut keys = std::iter::once(&self.current).chain(&self.older);
        keys.find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

/// The treatment of a replay: a second opening of the same text.
#[derive(Clone)]
#[non_exhaustive]
pub enum ReplayPolicy {
    /// The text is refused: each text can be opened once.
    Refuse(Arc<dyn NonceStore>),
    /// The text is opened again. Use this only for runs whose next effects may happen twice.
    Allow,
}

impl fmt::Debug for ReplayPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Refuse(_) => "Refuse",
            Self::Allow => "Allow",
        })
    }
}

impl ReplayPolicy {
    /// Returns the id of the nonce store that refuses replays.
    fn nonce_store_id(&self) -> Option<&str> {
        match self {
            Self::Refuse(nonces) => nonces.id(),
            Self::Allow => None,
        }
    }
}

/// The time for which a nonce is kept after its text expired, in milliseconds: a day. A machine with a slow clock can open the
/// text for longer.
const NONCE_RETENTION: u64 = 24 * 60 * 60 * 1000;

/// Returns the latest expiry of the texts whose nonces a store may delete at `now`.
pub(crate) fn expired_before(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_sub(NONCE_RETENTION))
}

/// Returns a unique random text.
pub(crate) fn random_id() -> String {
    BASE64.encode(XChaCha20Poly1305::generate_nonce(&mut OsRng))
}

/// A store that remembers which texts were opened. Processes that open the same texts must share it.
///
/// `SqliteStore` (feature `sqlite`) is a nonce store for the processes of one machine, and `PostgresStore` (feature `postgres`)
/// for any number of machines. Both may also store runs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot remember which sealed runs were opened",
    label = "`NonceStore` is not implemented",
    note = "use `SqliteStore` or `PostgresStore`, or `MemoryNonces` within one process; or implement `NonceStore`"
)]
pub trait NonceStore: Send + Sync {
    /// Returns the identity of the store's memory. A text can be opened only with the identity with which it was sealed,
    /// because a new store does not know which earlier texts were opened.
    ///
    /// The default is `None`, for a store that never forgets and is the only one for its keys.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Records `nonce`, and returns whether it was new. Of concurrent calls with one nonce, exactly one returns `true`. The
    /// store may forget the nonce at `expires`. If the clocks of machines differ, it should wait longer.
    ///
    /// Fails when it is not known whether the nonce was recorded. Then the text is not opened.
    fn spend<'a>(
        &'a self,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Records `nonce`, like [`spend`](Self::spend), for the text of `principal`. A store with little room may limit the nonces of
    /// one principal. The default does not.
    ///
    /// Fails like [`spend`](Self::spend).
    fn spend_of<'a>(
        &'a self,
        principal: &'a Principal,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let _ = principal;
        self.spend(nonce, expires, now)
    }
}

/// The maximum number of nonces of one principal that [`MemoryNonces`] remembers.
const MAX_NONCES: usize = 100_000;

/// A nonce store in memory, for one process.
///
/// It refuses texts that were sealed before its creation or by another process, because it does not know whether they were
/// opened. So use it for tests, and with a key of the process ([`Key::random`]). For keys that outlive the process, use a
/// persistent nonce store.
///
/// It remembers at most 100,000 nonces of one principal, which take up about 20 MB. Then it opens no more texts of this principal
/// until some have expired.
#[derive(Debug)]
pub struct MemoryNonces {
    id: String,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// The nonces of each principal.
    of: HashMap<Principal, HashSet<String>>,
    /// All nonces, ordered by the expiry of their texts.
    ends: BTreeSet<(Timestamp, Principal, String)>,
}

impl Spent {
    /// Forgets the nonces of texts that expired more than a day before `now`.
    fn forget_expired(&mut self, now: Timestamp) {
        while self.ends.first().is_some_and(|(until, ..)| *until <= expired_before(now)) {
            let Some((_, principal, nonce)) = self.ends.pop_first() else { return };
            if let Entry::Occupied(mut own) = self.of.entry(principal) {
                own.get_mut().remove(&nonce);
                if own.get().is_empty() {
                    own.remove();
                }
            }
        }
    }
}

impl MemoryNonces {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self { id: random_id(), spent: Mutex::default() }
    }
}

impl MemoryNonces {
    fn record(
        &self,
        principal: &Principal,
        nonce: &str,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.forget_expired(now);
        let own = spent.of.entry(principal.clone()).or_default();
        if own.len() >= MAX_NONCES {
            let text = "too many sealed runs of this principal were used; keep nonces in SQLite or PostgreSQL";
            return Err(StoreError::unavailable(text));
        }
        let is_new = own.insert(nonce.to_owned());
        if is_new {
            spent.ends.insert((expires, principal.clone(), nonce.to_owned()));
        }
        Ok(is_new)
    }
}

impl Default for MemoryNonces {
    fn default() -> Self {
        Self::new()
    }
}

impl NonceStore for MemoryNonces {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(
        &'a self,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(self.record(&Principal::from(""), nonce, expires, now)))
    }

    fn spend_of<'a>(
        &'a self,
        principal: &'a Principal,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(self.record(principal, nonce, expires, now)))
    }
}

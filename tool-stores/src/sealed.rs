//! Suspended runs without a store: a snapshot that its holder can neither read nor change.
//!
//! A server that keeps nothing gives a suspended run to the client, sealed, and gets it back with the decision. The
//! text is encrypted and authenticated (XChaCha20-Poly1305); it names its version and the key in clear, and says inside
//! for which audience and principal it is, and until when.
//!
//! What is sealed can be given back twice. Whether that matters depends on what the run does next: after an approval
//! the same text would run the call again. So [`Sealer::new`] makes the caller choose: a store of the texts that were
//! opened ([`Replay::Refuse`]), or [`Replay::AllowReplay`]. The store must last as long as the keys do: a `SqliteStore`
//! or a `PostgresStore` of [`store`](tool_runtime::store), or for keys of one process [`MemoryNonces`]. A text is
//! opened only by the store that was there when it was sealed.
//!
//! ```
//! use std::sync::Arc;
//! use tool_runtime::run::{Principal, Run, RunId, RunOptions, Time};
//! use tool_stores::sealed::{Key, Keyring, MemoryNonces, Replay, SealError, Sealer};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let ring = Keyring::new("process", Key::random());
//! let sealer = Sealer::new(ring, "airline-desk", Replay::Refuse(Arc::new(MemoryNonces::new())));
//!
//! let anna = Principal::from("anna");
//! let (run, _) = Run::new(RunId::from("r1"), anna.clone(), RunOptions::default(), Vec::new(), Time(0));
//! let text = sealer.seal(&run, &anna, Time(1_000)).unwrap();
//! let run = sealer.open(&text, &anna, Time(2_000)).await.unwrap();
//! assert_eq!(run.id().as_str(), "r1");
//! assert!(matches!(sealer.open(&text, &anna, Time(3_000)).await, Err(SealError::Replayed)));
//! # });
//! ```

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
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
use tool_runtime::run::{Principal, Run, Time};
use tool_runtime::store::StoreError;

/// The version of the sealed form.
const VERSION: &str = "tool-run-1";

/// How many bytes a sealed text may have, unless [`Sealer::max_bytes`] says otherwise.
pub const DEFAULT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// For how many milliseconds a sealed text is good, unless [`Sealer::lifetime`] says otherwise: a week.
pub const DEFAULT_LIFETIME: u64 = 7 * 24 * 60 * 60 * 1000;

/// Seals suspended runs, and opens them again.
#[derive(Clone, Debug)]
pub struct Sealer {
    ring: Keyring,
    audience: String,
    replay: Replay,
    lifetime: u64,
    max_bytes: usize,
}

/// The contents of a sealed text.
#[derive(Serialize, Deserialize)]
struct Contents {
    audience: String,
    principal: Principal,
    expires: Time,
    /// The id of the store that remembers whether the text was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonces: Option<String>,
    /// The nonce of an earlier text, in whose place this one is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spends: Option<String>,
    run: String,
}

/// The opening of a sealed text, which can be spent once: [`Sealer::peek`] gives it, and [`Sealer::spend`] spends it.
#[derive(Clone, Debug)]
pub struct Opening {
    nonce: String,
    expires: Time,
}

impl Sealer {
    /// Seals with the first key of `ring` for `audience`, the name of the application that opens it, and opens with
    /// any.
    pub fn new(ring: Keyring, audience: impl Into<String>, replay: Replay) -> Self {
        let audience = audience.into();
        Self { ring, audience, replay, lifetime: DEFAULT_LIFETIME, max_bytes: DEFAULT_MAX_BYTES }
    }

    /// Sets for how many milliseconds a sealed text is good.
    pub fn lifetime(mut self, millis: u64) -> Self {
        self.lifetime = millis;
        self
    }

    /// Sets how many bytes a sealed text may have.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Seals `run` for `principal`. The text is URL-safe.
    ///
    /// Fails when it is too large.
    pub fn seal(&self, run: &Run, principal: &Principal, now: Time) -> Result<String, SealError> {
        self.seal_as(run, principal, now.plus(self.lifetime), None)
    }

    /// Seals `run` in place of a text that was peeked into and not spent. Both texts share one opening: of the two, one
    /// can be spent. The new text expires with the old one.
    ///
    /// Fails when it is too large.
    pub fn seal_again(&self, run: &Run, principal: &Principal, opening: &Opening) -> Result<String, SealError> {
        self.seal_as(run, principal, opening.expires, Some(opening.nonce.clone()))
    }

    fn seal_as(
        &self,
        run: &Run,
        principal: &Principal,
        expires: Time,
        spends: Option<String>,
    ) -> Result<String, SealError> {
        let (audience, principal) = (self.audience.clone(), principal.clone());
        let nonces = self.replay.id().map(str::to_owned);
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

    /// Opens what was sealed for `principal`, whom the application has authenticated.
    ///
    /// Fails when the text is of another version, audience or principal, is over, was changed or opened before, its
    /// nonce store was another when it was sealed, or its run cannot be read. Nothing is learned from a text that was
    /// not sealed with a key of the ring.
    pub async fn open(&self, text: &str, principal: &Principal, now: Time) -> Result<Run, SealError> {
        let (run, opening) = self.peek(text, principal, now)?;
        self.spend(&opening, now).await?;
        Ok(run)
    }

    /// Reads the run of a text and spends nothing: for who has to look at the run before it is known whether anything
    /// will be done with it. [`Sealer::spend`] comes before the first thing that must not happen twice.
    ///
    /// Fails as [`Sealer::open`] does, but for a text that was opened before.
    pub fn peek(&self, text: &str, principal: &Principal, now: Time) -> Result<(Run, Opening), SealError> {
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
        if let Replay::Refuse(nonces) = &self.replay
            && contents.nonces.as_deref() != nonces.id()
        {
            return Err(SealError::Forgotten);
        }
        let run = Run::thaw(&contents.run)?;
        let nonce = contents.spends.unwrap_or_else(|| BASE64.encode(nonce));
        Ok((run, Opening { nonce, expires: contents.expires }))
    }

    /// Spends the opening of a text that was peeked into, if the sealer refuses texts that were opened before.
    ///
    /// Fails when it was spent before, or when the nonce store does not answer; then nothing may be done with the run.
    pub async fn spend(&self, opening: &Opening, now: Time) -> Result<(), SealError> {
        let Replay::Refuse(nonces) = &self.replay else { return Ok(()) };
        if nonces.spend(&opening.nonce, opening.expires, now).await? { Ok(()) } else { Err(SealError::Replayed) }
    }

    /// The version and the size are looked at first.
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
            return Err(malformed("it has not four parts"));
        };
        let decode = |part: &str| BASE64.decode(part).map_err(|_| malformed("a part of it is no base64"));
        let header = format!("{VERSION}.{id}");
        let id = String::from_utf8(decode(id)?).map_err(|_| malformed("the key's id is no text"))?;
        let key = self.ring.get(&id).ok_or(SealError::UnknownKey)?;
        let nonce: [u8; 24] = decode(nonce)?.try_into().map_err(|_| malformed("the nonce has not 24 bytes"))?;
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
    /// It is of another version, or no sealed run at all.
    Version(String),
    /// It is larger than is accepted, or would be.
    TooLarge {
        /// The most bytes.
        limit: usize,
    },
    /// It is not formed like a sealed run.
    Malformed(String),
    /// It was sealed with a key that is not on the ring.
    UnknownKey,
    /// It was changed, or sealed by somebody else.
    Forged,
    /// It is for another application.
    Audience,
    /// It is for another principal.
    Forbidden,
    /// Its time is over.
    Expired {
        /// Since when.
        at: Time,
    },
    /// It was opened before.
    Replayed,
    /// It was sealed while another nonce store remembered what was opened, such as a [`MemoryNonces`] of
    /// a process that has ended. So it may have been opened before.
    Forgotten,
    /// The run in it cannot be read.
    Record(RecordError),
    /// It is not known whether it was opened before.
    Store(StoreError),
}

impl fmt::Display for SealError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(out, "this is no sealed run of a version that is known here, but `{}`", version.escape_default())
            }
            Self::TooLarge { limit } => {
                write!(out, "a sealed run has at most {limit} bytes; keep larger ones in a store")
            }
            Self::Malformed(reason) => write!(out, "the sealed run is damaged: {reason}"),
            Self::UnknownKey => out.write_str("the run was sealed with a key that is not on the ring"),
            Self::Forged => out.write_str("the sealed run was changed, or sealed by somebody else"),
            Self::Audience => out.write_str("the run was sealed for another application"),
            Self::Forbidden => out.write_str("the run was sealed for somebody else"),
            Self::Expired { .. } => out.write_str("the sealed run is too old; begin again"),
            Self::Replayed => out.write_str("the sealed run was opened before; each is good for once"),
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
        match self {
            Self::Record(error) => Some(error),
            Self::Store(error) => Some(error),
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
    /// The key of these bytes; they must be random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&bytes.into()))
    }

    /// A new random key, for one process: nobody else opens what it seals.
    pub fn random() -> Self {
        Self(XChaCha20Poly1305::new(&XChaCha20Poly1305::generate_key(&mut OsRng)))
    }

    /// A new random key's bytes, in base64: for a secret store.
    pub fn generate() -> String {
        STANDARD.encode(XChaCha20Poly1305::generate_key(&mut OsRng))
    }

    /// The key of a text that [`Key::generate`] made.
    ///
    /// Fails when it is not the base64 of 32 bytes.
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

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key is the base64 of 32 random bytes, such as `openssl rand -base64 32` prints")
    }
}

impl std::error::Error for KeyError {}

/// Keys by their ids. The first seals; all open, so that keys can be changed while texts are on their way.
#[derive(Clone, Debug)]
pub struct Keyring {
    current: (String, Key),
    older: Vec<(String, Key)>,
}

impl Keyring {
    /// A ring of one key. The id is written in clear.
    pub fn new(id: impl Into<String>, key: Key) -> Self {
        Self { current: (id.into(), key), older: Vec::new() }
    }

    /// Adds a key that opens, and does not seal any more. One with an id that is taken is never used.
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

/// The fate of a text that is opened twice.
#[derive(Clone)]
#[non_exhaustive]
pub enum Replay {
    /// It is refused: each text is good for one opening.
    Refuse(Arc<dyn NonceStore>),
    /// It is opened again. For runs in which nothing can happen that must not happen twice.
    AllowReplay,
}

impl fmt::Debug for Replay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Refuse(_) => "Refuse",
            Self::AllowReplay => "AllowReplay",
        })
    }
}

impl Replay {
    /// The id of the store that remembers.
    fn id(&self) -> Option<&str> {
        match self {
            Self::Refuse(nonces) => nonces.id(),
            Self::AllowReplay => None,
        }
    }
}

/// For how many milliseconds a nonce is kept when its text has expired, a day: clocks of machines differ, and where one
/// is slow, the text can still be opened.
const KEPT: u64 = 24 * 60 * 60 * 1000;

/// Nonces of texts that have expired by then need not be kept at `now`.
pub(crate) fn kept_since(now: Time) -> Time {
    Time(now.0.saturating_sub(KEPT))
}

/// A text that nobody else has.
pub(crate) fn unique() -> String {
    BASE64.encode(XChaCha20Poly1305::generate_nonce(&mut OsRng))
}

/// Remembers which texts were opened. Where several processes open texts, they must share it.
///
/// With the feature `sqlite`, `SqliteStore` is one for the processes of a machine. With `postgres`, `PostgresStore` is
/// one for any number of machines. Both may keep runs, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot remember which sealed runs were opened",
    label = "`NonceStore` is not implemented",
    note = "`SqliteStore` and `PostgresStore` do, and `MemoryNonces` within one process; or implement `NonceStore`"
)]
pub trait NonceStore: Send + Sync {
    /// Identifies what the store remembers. A text is opened only where this is the same as when it was sealed: a store
    /// that was lost, or began later, does not know which of the earlier texts were opened.
    ///
    /// `None`, as long as it is not implemented: for a store that never forgets, and is the only one for its keys.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Notes `nonce`, and says whether it was new. It can be forgotten at `expires`, and some time later where the
    /// clocks of machines differ. Of many at one time, for one it is new.
    ///
    /// Fails when it is not known whether it was noted: then nothing is opened.
    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Remembers in memory: for one process, until it ends.
///
/// It opens nothing that was sealed before it began, or that another process has sealed, whatever the key: nobody knows
/// whether that was opened. So it goes with a key of the process, [`Key::random`], and with tests.
/// Where the key outlives the process, the nonces must, too.
#[derive(Debug)]
pub struct MemoryNonces {
    id: String,
    spent: Mutex<HashMap<String, Time>>,
}

impl MemoryNonces {
    /// Returns a store in which nothing was opened yet.
    pub fn new() -> Self {
        Self { id: unique(), spent: Mutex::default() }
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

    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, until| *until > kept_since(now));
        let is_new = spent.insert(nonce.to_owned(), expires).is_none();
        Box::pin(ready(Ok(is_new)))
    }
}

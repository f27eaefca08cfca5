//! Keys, and their names.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};

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
        Self(XChaCha20Poly1305::new(&XChaCha20Poly1305::generate_key(&mut chacha20poly1305::aead::OsRng)))
    }

    /// A new random key's bytes, in base64: for a secret store.
    pub fn generate() -> String {
        STANDARD.encode(XChaCha20Poly1305::generate_key(&mut chacha20poly1305::aead::OsRng))
    }

    /// The key of a text that [`Key::generate`] made.
    ///
    /// Fails when it is not the base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, KeyError> {
        let bytes: Result<[u8; 32], _> = STANDARD.decode(text.trim()).map_err(|_| KeyError)?.try_into();
        bytes.map(Self::from_bytes).map_err(|_| KeyError)
    }

    pub(super) fn cipher(&self) -> &XChaCha20Poly1305 {
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

    pub(super) fn current(&self) -> (&str, &Key) {
        (&self.current.0, &self.current.1)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Key> {
        let mut keys = std::iter::once(&self.current).chain(&self.older);
        keys.find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

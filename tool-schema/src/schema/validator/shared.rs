//! Compiled schemas, kept for the next who brings the same one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Uncompilable, Validator};

/// How many compiled schemas are kept.
const KEPT: usize = 256;

type Key = [u8; 32];

#[derive(Default)]
struct Kept {
    /// With the time of last use.
    validators: HashMap<Key, (u64, Arc<Validator>)>,
    clock: u64,
}

impl Validator {
    /// [`compile`](Self::compile), or the validator that was compiled from the same text before, in this process.
    ///
    /// The 256 that were used last are kept.
    pub fn shared(schema: &Value) -> Result<Arc<Self>, Uncompilable> {
        static KEPT_HERE: OnceLock<Mutex<Kept>> = OnceLock::new();
        super::admit::size(schema)?;
        // Somebody who could make two schemas collide could replace another's, hence a cryptographic hash.
        let key: Key = Sha256::digest(schema.to_string()).into();
        let kept = || KEPT_HERE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().get(&key) {
            return Ok(found);
        }
        // Compiled outside the lock: a large schema does not hold up the others.
        let validator = Arc::new(Self::compile(schema)?);
        kept().insert(key, Arc::clone(&validator));
        Ok(validator)
    }
}

impl Kept {
    fn get(&mut self, key: &Key) -> Option<Arc<Validator>> {
        self.clock += 1;
        let (used, validator) = self.validators.get_mut(key)?;
        *used = self.clock;
        Some(Arc::clone(validator))
    }

    fn insert(&mut self, key: Key, validator: Arc<Validator>) {
        self.clock += 1;
        if self.validators.len() >= KEPT
            && let Some(oldest) = self.validators.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key)
        {
            self.validators.remove(&oldest);
        }
        self.validators.insert(key, (self.clock, validator));
    }
}

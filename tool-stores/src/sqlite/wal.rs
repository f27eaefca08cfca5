//! The write-ahead log, which has to be copied back into the file now and then. SQLite would do that in the middle of
//! whatever commit comes next, and wait for the disk there.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use rusqlite::Connection;

/// From how many pages on the log is copied back: SQLite's own number.
const LONG: u32 = 1000;

/// What a connection knows about the log.
pub(super) struct Wal {
    seen: Arc<Seen>,
}

struct Seen {
    /// How many pages it had after the last commit.
    pages: AtomicU32,
    /// Whether the next commit may be the first of a new log, whose beginning SQLite waits to see on the disk.
    is_next_synced: AtomicBool,
}

impl Wal {
    /// Copies nothing back by itself any more, and watches the commits of `db`.
    pub(super) fn watch(db: &mut Connection) -> rusqlite::Result<Self> {
        let is_next_synced = db.path().is_some_and(|path| !path.is_empty());
        let seen = Arc::new(Seen { pages: AtomicU32::new(0), is_next_synced: AtomicBool::new(is_next_synced) });
        let watching = Arc::clone(&seen);
        // In place of SQLite's own hook, which is the one that copies back.
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            watching.pages.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            watching.is_next_synced.store(false, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { seen })
    }

    pub(super) fn is_long(&self) -> bool {
        self.seen.pages.load(Ordering::Relaxed) >= LONG
    }

    pub(super) fn is_next_synced(&self) -> bool {
        self.seen.is_next_synced.load(Ordering::Relaxed)
    }

    /// Copies as much back as nobody reads. Waits for the disk, not for others: what is left, is copied another time.
    pub(super) fn copy_back(&self, db: &Connection) {
        self.seen.pages.store(0, Ordering::Relaxed);
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let copied = db.query_row(sql, [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        // If it did not work, the log is longer after the next commit, and this is tried again.
        if let Ok((pages, copied)) = copied {
            self.seen.is_next_synced.store(pages == copied, Ordering::Relaxed);
        }
    }
}

//! Ctrl-C, while a conversation listens.

use std::{
    process,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::sync::watch;

/// What a shell expects of a program that was ended by Ctrl-C.
const STATUS: i32 = 130;

/// Who listens in this process, and how often it was pressed. Once a program listens it does so until its end, so where no
/// conversation does, it ends the program, as it would have.
struct Keys {
    listening: AtomicUsize,
    pressed: watch::Sender<usize>,
}

static KEYS: OnceLock<Option<Keys>> = OnceLock::new();

/// A conversation that listens; or none, for which it is never pressed.
pub(super) struct Interrupts {
    pressed: Option<watch::Receiver<usize>>,
    /// How often it was pressed before something was begun that it stops.
    before: usize,
}

impl Interrupts {
    /// Listens from now on, where that can be.
    pub(super) fn listen() -> Self {
        let keys = KEYS.get_or_init(|| {
            let (pressed, _) = watch::channel(0);
            // A thread of its own: it works while every worker of the program's runtime is busy.
            let listener = thread::Builder::new().name("ctrl-c".to_owned()).spawn(count);
            listener.is_ok().then(|| Keys { listening: AtomicUsize::new(0), pressed })
        });
        let Some(keys) = keys else { return Self::none() };
        keys.listening.fetch_add(1, Ordering::SeqCst);
        let pressed = keys.pressed.subscribe();
        let before = *pressed.borrow();
        Self { pressed: Some(pressed), before }
    }

    pub(super) fn none() -> Self {
        Self { pressed: None, before: 0 }
    }

    /// What was pressed so far is dealt with.
    pub(super) fn forget(&mut self) {
        if let Some(pressed) = &self.pressed {
            self.before = *pressed.borrow();
        }
    }

    /// Whether it was pressed since.
    pub(super) fn is_pressed(&self) -> bool {
        self.pressed.as_ref().is_some_and(|pressed| *pressed.borrow() > self.before)
    }

    /// Waits until it was pressed `times` since.
    pub(super) fn pressed(&self, times: usize) -> impl Future<Output = ()> + Send + use<> {
        let (pressed, most) = (self.pressed.clone(), self.before + times);
        async move {
            if let Some(mut pressed) = pressed
                && pressed.wait_for(|count| *count >= most).await.is_ok()
            {
                return;
            }
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if let (Some(_), Some(Some(keys))) = (&self.pressed, KEYS.get()) {
            keys.listening.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn count() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        while tokio::signal::ctrl_c().await.is_ok() {
            match KEYS.get() {
                Some(Some(keys)) if keys.listening.load(Ordering::SeqCst) > 0 => {
                    keys.pressed.send_modify(|count| *count += 1);
                }
                _ => process::exit(STATUS),
            }
        }
    });
}

//! A person's input: lines, and Ctrl-C during a conversation.

use std::{
    io::{self, BufRead},
    process,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::{oneshot, watch};

/// If a question replaces another one, a line within this time may still answer the earlier question.
const MOMENT: Duration = Duration::from_millis(700);

/// A reader of lines. A separate thread reads a line on request, so that a program can end without waiting for it.
pub struct Input {
    asks: mpsc::Sender<oneshot::Sender<Line>>,
    /// The line that the thread is reading. It stays here if the question is withdrawn.
    pending: Option<oneshot::Receiver<Line>>,
}

/// A line without its line ending; `None` at the end of the input.
type Line = io::Result<Option<String>>;

/// The outcome of a question.
pub enum Typed {
    Line(Option<String>),
    /// A line that was meant for an earlier question.
    Stale,
}

impl Input {
    pub fn new(mut reader: impl BufRead + Send + 'static) -> Self {
        let (asks, asked) = mpsc::channel::<oneshot::Sender<Line>>();
        // If the thread cannot be started, each question fails.
        let _ = thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            for reply in asked {
                // The question may have been withdrawn; then the next one gets the line.
                let _ = reply.send(next(&mut reader));
            }
        });
        Self { asks, pending: None }
    }

    /// Returns the next line. If `decides` is set, a line that was meant for an earlier question is [`Typed::Stale`].
    pub async fn line(&mut self, decides: bool) -> io::Result<Typed> {
        let since = Instant::now();
        let is_left = self.pending.is_some();
        let pending = self.pending.get_or_insert_with(|| {
            let (reply, line) = oneshot::channel();
            let _ = self.asks.send(reply);
            line
        });
        let line = pending.await.unwrap_or_else(|_| Err(io::Error::other("the input is closed")));
        self.pending = None;
        let line = line?;
        let is_stale = is_left && decides && line.is_some() && since.elapsed() < MOMENT;
        Ok(if is_stale { Typed::Stale } else { Typed::Line(line) })
    }
}

fn next(reader: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    let length = reader.read_until(b'\n', &mut line)?;
    // Invalid UTF-8 must not end a conversation.
    let line = String::from_utf8_lossy(&line);
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The exit status that a shell expects of a program that Ctrl-C has ended.
const STATUS: i32 = 130;

/// The number of conversations that listen in this process, and the number of presses of Ctrl-C. A process that handles Ctrl-C
/// once does so until its end. So if no conversation listens, Ctrl-C ends the program explicitly.
struct Keys {
    listening: AtomicUsize,
    pressed: watch::Sender<usize>,
}

static KEYS: OnceLock<Option<Keys>> = OnceLock::new();

/// The presses of Ctrl-C for one conversation. One that does not listen sees no presses.
pub struct Interrupts {
    pressed: Option<watch::Receiver<usize>>,
    /// The number of presses before the current work began.
    before: usize,
}

impl Interrupts {
    /// Begins to listen, if that is possible.
    pub fn listen() -> Self {
        let keys = KEYS.get_or_init(|| {
            let (pressed, _) = watch::channel(0);
            // A separate thread, which works even if all workers of the program's runtime are busy.
            let listener = thread::Builder::new().name("ctrl-c".to_owned()).spawn(count_presses);
            listener.is_ok().then(|| Keys { listening: AtomicUsize::new(0), pressed })
        });
        let Some(keys) = keys else { return Self::none() };
        keys.listening.fetch_add(1, Ordering::SeqCst);
        let pressed = keys.pressed.subscribe();
        let before = *pressed.borrow();
        Self { pressed: Some(pressed), before }
    }

    pub fn none() -> Self {
        Self { pressed: None, before: 0 }
    }

    /// Forgets the presses so far.
    pub fn forget(&mut self) {
        if let Some(pressed) = &self.pressed {
            self.before = *pressed.borrow();
        }
    }

    /// Returns whether Ctrl-C was pressed since the last [`forget`](Self::forget).
    pub fn is_pressed(&self) -> bool {
        self.pressed.as_ref().is_some_and(|pressed| *pressed.borrow() > self.before)
    }

    /// Waits until Ctrl-C was pressed `times` since the last [`forget`](Self::forget).
    pub fn pressed(&self, times: usize) -> impl Future<Output = ()> + Send + use<> {
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

/// Counts presses of Ctrl-C until the program ends.
fn count_presses() {
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

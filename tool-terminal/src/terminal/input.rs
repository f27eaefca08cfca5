//! A person's input: lines, and Ctrl-C while a conversation listens.

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

/// How long after a question took the place of another what is typed may still be meant for that one.
const MOMENT: Duration = Duration::from_millis(700);

/// Lines, read by a thread of their own, which a program that ends need not wait for. The thread reads a line when it
/// is asked to.
pub struct Input {
    asks: mpsc::Sender<oneshot::Sender<Line>>,
    /// The line that is being read. Still here when the question was taken back.
    pending: Option<oneshot::Receiver<Line>>,
}

/// A line without its end; `None` when there is none.
type Line = io::Result<Option<String>>;

/// The outcome of a question.
pub enum Typed {
    Line(Option<String>),
    /// A line that was typed when another question was there.
    Stale,
}

impl Input {
    pub fn new(mut reader: impl BufRead + Send + 'static) -> Self {
        let (asks, asked) = mpsc::channel::<oneshot::Sender<Line>>();
        // Where no thread can be started, each question fails.
        let _ = thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            for reply in asked {
                // Whoever asked may be gone; then the next takes the line.
                let _ = reply.send(next(&mut reader));
            }
        });
        Self { asks, pending: None }
    }

    /// Returns the next line. `decides` says that it must not be one that was meant for a question before.
    pub async fn line(&mut self, decides: bool) -> io::Result<Typed> {
        let since = Instant::now();
        let is_left = self.pending.is_some();
        let pending = self.pending.get_or_insert_with(|| {
            let (reply, line) = oneshot::channel();
            let _ = self.asks.send(reply);
            line
        });
        let line = pending.await.unwrap_or_else(|_| Err(io::Error::other("nothing can be read any more")));
        self.pending = None;
        let line = line?;
        let is_stale = is_left && decides && line.is_some() && since.elapsed() < MOMENT;
        Ok(if is_stale { Typed::Stale } else { Typed::Line(line) })
    }
}

/// Reads a line.
fn next(reader: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    let length = reader.read_until(b'\n', &mut line)?;
    // A byte that is no text is no reason to end a conversation.
    let line = String::from_utf8_lossy(&line);
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The status that a shell expects of a program that was ended by Ctrl-C.
const STATUS: i32 = 130;

/// The conversations that listen in this process, and how often Ctrl-C was pressed. Once a program listens it does so
/// until its end. So where no conversation listens, Ctrl-C ends the program, as it would have.
struct Keys {
    listening: AtomicUsize,
    pressed: watch::Sender<usize>,
}

static KEYS: OnceLock<Option<Keys>> = OnceLock::new();

/// A conversation that listens; or none, for which it is never pressed.
pub struct Interrupts {
    pressed: Option<watch::Receiver<usize>>,
    /// How often it was pressed before something was begun that it stops.
    before: usize,
}

impl Interrupts {
    /// Listens from now on, where that can be.
    pub fn listen() -> Self {
        let keys = KEYS.get_or_init(|| {
            let (pressed, _) = watch::channel(0);
            // A thread of its own: it works while every worker of the program's runtime is busy.
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

    /// Returns whether it was pressed since.
    pub fn is_pressed(&self) -> bool {
        self.pressed.as_ref().is_some_and(|pressed| *pressed.borrow() > self.before)
    }

    /// Waits until it was pressed `times` since.
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

/// Counts how often Ctrl-C is pressed, until the program ends.
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

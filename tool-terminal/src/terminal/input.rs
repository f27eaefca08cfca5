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

/// The time after a new question in which a line may still be meant for the previous question.
const STALE_PERIOD: Duration = Duration::from_millis(700);

/// A reader of lines. A separate thread reads a line on request, so that a program can end without waiting for a line.
pub struct Input {
    requests: mpsc::Sender<oneshot::Sender<Line>>,
    /// The line that the thread is reading. If the question is withdrawn, the next question receives that line.
    pending: Option<oneshot::Receiver<Line>>,
}

/// A line without its line ending; `None` at the end of the input.
type Line = io::Result<Option<String>>;

/// The outcome of a question.
pub enum TypedLine {
    Line(Option<String>),
    /// A line that was meant for an earlier question.
    Stale,
}

impl Input {
    pub fn new(mut reader: impl BufRead + Send + 'static) -> Self {
        let (requests, received_requests) = mpsc::channel::<oneshot::Sender<Line>>();
        // If the thread cannot be started, each question fails.
        let _ = thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            for reply in received_requests {
                // This fails only if the `Input` was dropped. A withdrawn question leaves its receiver in `pending`.
                let _ = reply.send(read_line(&mut reader));
            }
        });
        Self { requests, pending: None }
    }

    /// Returns the next line. If `must_be_fresh` is set, a line that was meant for an earlier question is [`TypedLine::Stale`].
    pub async fn read_line(&mut self, must_be_fresh: bool) -> io::Result<TypedLine> {
        let asked_at = Instant::now();
        let is_left = self.pending.is_some();
        let pending = self.pending.get_or_insert_with(|| {
            let (reply, line) = oneshot::channel();
            let _ = self.requests.send(reply);
            line
        });
        let line = pending.await.unwrap_or_else(|_| Err(io::Error::other("the input is closed")));
        self.pending = None;
        let line = line?;
        let is_stale = is_left && must_be_fresh && line.is_some() && asked_at.elapsed() < STALE_PERIOD;
        Ok(if is_stale { TypedLine::Stale } else { TypedLine::Line(line) })
    }
}

fn read_line(reader: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    let length = reader.read_until(b'\n', &mut line)?;
    // Invalid UTF-8 must not end a conversation.
    let line = String::from_utf8_lossy(&line);
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The exit status that a shell expects of a program that Ctrl-C has ended.
const CTRL_C_EXIT_STATUS: i32 = 130;

/// The numbers of listening conversations and of presses of Ctrl-C. Once tokio has installed a handler, the process never gets
/// the default action back. So if Ctrl-C is pressed while no conversation listens, the thread `ctrl-c` exits the program.
struct CtrlCState {
    listeners: AtomicUsize,
    press_count: watch::Sender<usize>,
}

static CTRL_C: OnceLock<Option<CtrlCState>> = OnceLock::new();

/// The presses of Ctrl-C for one conversation; none if it does not listen.
pub struct CtrlCPresses {
    press_count: Option<watch::Receiver<usize>>,
    /// The number of presses up to the last [`forget`](Self::forget).
    forgotten_presses: usize,
}

impl CtrlCPresses {
    /// Begins to listen. Returns [`none`](Self::none) if the process cannot receive presses.
    pub fn listen() -> Self {
        let ctrl_c = CTRL_C.get_or_init(|| {
            let (press_count, _) = watch::channel(0);
            let (ready, started) = mpsc::channel();
            // A separate thread receives presses even if all workers of the program's runtime are busy.
            let listener = thread::Builder::new().name("ctrl-c".to_owned()).spawn(move || count_presses(&ready));
            // After `started`, the listener receives every press.
            let is_listening = listener.is_ok() && started.recv().is_ok();
            is_listening.then(|| CtrlCState { listeners: AtomicUsize::new(0), press_count })
        });
        let Some(ctrl_c) = ctrl_c else { return Self::none() };
        ctrl_c.listeners.fetch_add(1, Ordering::SeqCst);
        let press_count = ctrl_c.press_count.subscribe();
        let forgotten_presses = *press_count.borrow();
        Self { press_count: Some(press_count), forgotten_presses }
    }

    pub fn none() -> Self {
        Self { press_count: None, forgotten_presses: 0 }
    }

    /// Forgets the presses so far.
    pub fn forget(&mut self) {
        if let Some(press_count) = &self.press_count {
            self.forgotten_presses = *press_count.borrow();
        }
    }

    /// Returns whether Ctrl-C was pressed since the last [`forget`](Self::forget).
    pub fn is_pressed(&self) -> bool {
        self.press_count.as_ref().is_some_and(|press_count| *press_count.borrow() > self.forgotten_presses)
    }

    /// Waits until Ctrl-C was pressed `times` times since the last [`forget`](Self::forget).
    pub fn wait_for_presses(&self, times: usize) -> impl Future<Output = ()> + Send + use<> {
        let (press_count, target) = (self.press_count.clone(), self.forgotten_presses + times);
        async move {
            if let Some(mut press_count) = press_count
                && press_count.wait_for(|count| *count >= target).await.is_ok()
            {
                return;
            }
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for CtrlCPresses {
    fn drop(&mut self) {
        if let (Some(_), Some(Some(ctrl_c))) = (&self.press_count, CTRL_C.get()) {
            ctrl_c.listeners.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Returns the presses of Ctrl-C from now on.
#[cfg(unix)]
fn listen_for_presses() -> io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

/// Returns the presses of Ctrl-C from now on.
#[cfg(windows)]
fn listen_for_presses() -> io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

/// Counts presses of Ctrl-C until the program ends. Sends to `ready` when it begins to receive presses.
fn count_presses(ready: &mpsc::Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(mut presses) = listen_for_presses() else { return };
        let _ = ready.send(());
        while presses.recv().await.is_some() {
            match CTRL_C.get() {
                Some(Some(ctrl_c)) if ctrl_c.listeners.load(Ordering::SeqCst) > 0 => {
                    ctrl_c.press_count.send_modify(|count| *count += 1);
                }
                _ => process::exit(CTRL_C_EXIT_STATUS),
            }
        }
    });
}

//! A pseudo-terminal for a test.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::ffi::OsStringExt as _,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

/// The maximum time until a program shows an expected text.
const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum time until a program ends.
const PATIENCE_TO_END: Duration = Duration::from_mins(2);

/// A program in a terminal, controlled by a test.
pub(crate) struct TerminalSession {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    watching: JoinHandle<()>,
    /// The length of the screen's text up to the last match.
    seen: usize,
}

impl TerminalSession {
    pub(super) fn new(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = OsString::from_vec(ptsname(&ours, Vec::new()).unwrap().into_bytes());
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        let child = command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // Only the program has the other end now, so reading stops when the program ends.
        drop((command, theirs));
        let keyboard = File::from(ours);
        let (screen, mut shown) = (Arc::new(Mutex::new(Vec::new())), keyboard.try_clone().unwrap());
        let seen = Arc::clone(&screen);
        let watching = thread::spawn(move || {
            let mut piece = [0; 4096];
            // On Linux, reading at the end is an error.
            while let Ok(length @ 1..) = shown.read(&mut piece) {
                seen.lock().unwrap().extend_from_slice(&piece[..length]);
            }
        });
        Self { child, keyboard, screen, watching, seen: 0 }
    }

    /// Waits until the screen shows `text` after the last match.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_for_first(&[text], PATIENCE);
    }

    /// Waits for the first of `texts` after the last match. Returns its index, and the text before it.
    #[track_caller]
    pub(crate) fn wait_for_first(&mut self, texts: &[&str], patience: Duration) -> (usize, String) {
        let since = Instant::now();
        loop {
            let screen = self.shown().replace("\r\n", "\n");
            let new = &screen[self.seen.min(screen.len())..];
            let found = texts.iter().enumerate().filter_map(|(number, text)| Some((new.find(text)?, number)));
            if let Some((at, number)) = found.min() {
                self.seen += at + texts[number].len();
                return (number, new[..at].to_owned());
            }
            assert!(since.elapsed() < patience, "{texts:?} is not in\n{new}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn press_ctrl_c(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for the end. Returns the exit status and the whole screen.
    #[track_caller]
    pub(crate) fn wait_for_end(mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if since.elapsed() > PATIENCE_TO_END {
                self.child.kill().unwrap();
                panic!("the program does not end:\n{}", self.shown());
            }
            thread::sleep(Duration::from_millis(10));
        };
        self.watching.join().unwrap();
        let screen = self.screen.lock().unwrap();
        (status, String::from_utf8(screen.clone()).unwrap())
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }
}

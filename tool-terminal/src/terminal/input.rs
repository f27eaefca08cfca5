//! Lines that a person types.

use std::{
    io::{self, BufRead},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

/// How long after a question took the place of another what is typed may still be meant for that one.
const MOMENT: Duration = Duration::from_millis(700);

/// Where lines come from: a thread of its own, which a program that ends need not wait for. It reads when it is asked to, a line
/// at a time.
pub(super) struct Input {
    reader: Option<Box<dyn BufRead + Send>>,
    asks: Option<mpsc::Sender<oneshot::Sender<Line>>>,
    /// The line that is being read. Still here when the question was taken back.
    pending: Option<oneshot::Receiver<Line>>,
}

/// A line without its end; `None` when there is none.
type Line = io::Result<Option<String>>;

/// What came of a question.
pub(super) enum Typed {
    Line(Option<String>),
    /// A line that was typed when another question was there.
    Stale,
}

impl Input {
    pub(super) fn new(reader: impl BufRead + Send + 'static) -> Self {
        Self { reader: Some(Box::new(reader)), asks: None, pending: None }
    }

    /// The next line. `decides` says that it must not be one that was meant for a question before.
    pub(super) async fn line(&mut self, decides: bool) -> io::Result<Typed> {
        let since = Instant::now();
        let is_left = self.pending.is_some();
        if !is_left {
            self.pending = Some(self.read()?);
        }
        let Some(pending) = &mut self.pending else { return Ok(Typed::Line(None)) };
        let line = pending.await.unwrap_or_else(|_| Err(io::Error::other("nothing can be read any more")));
        self.pending = None;
        let line = line?;
        if is_left && decides && line.is_some() && since.elapsed() < MOMENT {
            return Ok(Typed::Stale);
        }
        Ok(Typed::Line(line))
    }

    fn read(&mut self) -> io::Result<oneshot::Receiver<Line>> {
        if let Some(mut reader) = self.reader.take() {
            let (asks, asked) = mpsc::channel::<oneshot::Sender<Line>>();
            thread::Builder::new().name("terminal".to_owned()).spawn(move || {
                for reply in asked {
                    // Whoever asked may be gone; then the next takes the line.
                    let _ = reply.send(next(&mut *reader));
                }
            })?;
            self.asks = Some(asks);
        }
        let (reply, line) = oneshot::channel();
        if let Some(asks) = &self.asks {
            let _ = asks.send(reply);
        }
        Ok(line)
    }
}

fn next(reader: &mut dyn BufRead) -> Line {
    let mut line = Vec::new();
    let length = reader.read_until(b'\n', &mut line)?;
    // A byte that is no text is no reason to end a conversation.
    let line = String::from_utf8_lossy(&line);
    Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

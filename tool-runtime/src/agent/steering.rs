//! Saying something to a run that goes on.

use tokio::sync::mpsc;

use crate::message::Part;

/// Says something to a run while it goes on: between two turns of the model, which sees it at the next. Nothing is ended,
/// and no step, token or time is given back.
///
/// It can be cloned and sent to other tasks. What is said while nobody drives the run joins the next prompt; what is said
/// just when the run comes to its end goes on with it.
#[derive(Clone, Debug)]
pub struct Steering {
    said: mpsc::UnboundedSender<Vec<Part>>,
}

/// Where what is said arrives.
#[derive(Debug)]
pub struct Steered {
    say: Steering,
    said: mpsc::UnboundedReceiver<Vec<Part>>,
}

impl Steering {
    /// Says something. `false` when the session is gone.
    pub fn say(&self, text: impl Into<String>) -> bool {
        self.say_parts(vec![Part::text(text)])
    }

    /// Says something in text and images. `false` when the session is gone.
    pub fn say_parts(&self, content: Vec<Part>) -> bool {
        self.said.send(content).is_ok()
    }
}

impl Steered {
    pub fn new() -> Self {
        let (say, said) = mpsc::unbounded_channel();
        Self { say: Steering { said: say }, said }
    }

    pub fn steering(&self) -> Steering {
        self.say.clone()
    }

    /// Waits for the next prompt; forever, if nobody has a sender.
    pub async fn next(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        match steered {
            Some(steered) => steered.said.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Returns what has arrived already.
    pub fn received(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        steered.as_mut()?.said.try_recv().ok()
    }

    /// Returns whether something has arrived.
    pub fn has_content(&self) -> bool {
        !self.said.is_empty()
    }
}

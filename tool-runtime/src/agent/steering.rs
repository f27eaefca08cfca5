//! Saying something to a run that goes on.

use tokio::sync::mpsc;

use super::{Agent, AgentError, Session};
use crate::message::Part;
use crate::run::{Event, Phase, Principal, Prompt, Run, RunId};

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
pub(super) struct Steered {
    say: Steering,
    said: mpsc::UnboundedReceiver<Vec<Part>>,
}

impl Steering {
    /// Says something. `false` when the session is gone.
    pub fn say(&self, text: impl Into<String>) -> bool {
        self.say_parts(vec![Part::text(text)])
    }

    /// The same in text and images.
    pub fn say_parts(&self, content: Vec<Part>) -> bool {
        self.said.send(content).is_ok()
    }
}

impl Steered {
    fn new() -> Self {
        let (say, said) = mpsc::unbounded_channel();
        Self { say: Steering { said: say }, said }
    }

    /// What is said next; never, if nobody can say anything.
    pub(super) async fn next(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        match steered {
            Some(steered) => steered.said.recv().await,
            None => std::future::pending().await,
        }
    }

    /// What was said already.
    pub(super) fn said(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        steered.as_mut()?.said.try_recv().ok()
    }
}

impl Session {
    /// A way to say something to the run while it goes on.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let agent = Agent::new(ScriptedModel::new([Turn::say("Sunny."), Turn::say("In Rome, too.")]));
    /// let mut session = agent.session();
    /// let steering = session.steering();
    /// let run = tokio::spawn(async move { session.send("How is the weather in Oslo?").await });
    /// steering.say("And in Rome?");
    /// # run.await.unwrap().unwrap();
    /// # });
    /// ```
    pub fn steering(&mut self) -> Steering {
        self.kept.steered.get_or_insert_with(Steered::new).say.clone()
    }

    /// Whether something was said ([`Session::steering`]) when the run had come to its end. [`Session::resume`] takes it up.
    pub fn has_late_word(&self) -> bool {
        let is_said = self.kept.steered.as_ref().is_some_and(|steered| !steered.said.is_empty());
        is_said && self.kept.run.phase() == Phase::Finished
    }
}

impl Agent {
    /// Says something to the run `id`, which goes on in any process, on behalf of `by`, who was authenticated by the
    /// application. It is kept in the run's log at once; whoever drives the run takes it up between two of the next turns.
    ///
    /// Fails when nothing goes on in the run ([`Refusal::Idle`](crate::run::Refusal::Idle)), or `by` is not its owner.
    pub async fn steer(&self, id: &RunId, content: Vec<Part>, by: impl Into<Principal>) -> Result<Run, AgentError> {
        self.steer_named(id, None, content, by).await
    }

    /// The same, under the id that whoever says it has for it.
    pub async fn steer_named(
        &self,
        id: &RunId,
        name: Option<String>,
        content: Vec<Part>,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let prompt = Prompt { id: name, ..Prompt::new(content, by.into(), self.now()) }.steering();
        self.change(id, || Event::Prompt(prompt.clone())).await
    }
}

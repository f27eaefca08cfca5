//! A conversation, prompt by prompt.

use std::io;

use super::{Terminal, interrupt::Interrupts};
use tool_runtime::agent::{Agent, AgentError, Stopped};
use tool_runtime::feedback::{escape, one_line};

impl Terminal {
    /// Talks with `agent` until the input ends, or the person says `exit` or `quit`. `greeting` is shown first.
    ///
    /// This terminal becomes the agent's front. A failure of the model is shown, and the conversation goes on. Where a person
    /// sits at the terminal that the program was started in, Ctrl-C stops what runs and asks for the next prompt; pressed
    /// again before one is given, it ends the conversation.
    pub async fn chat(self, agent: Agent, greeting: &str) -> io::Result<()> {
        let screen = &self.inner.screen;
        screen.line(&escape(greeting));
        let mut session = agent.front(self.clone()).session();
        let mut keys = if self.inner.is_person { Interrupts::listen() } else { Interrupts::none() };
        loop {
            let before = keys.is_pressed();
            let line = tokio::select! {
                biased;
                () = keys.pressed(if before { 2 } else { 1 }) => {
                    if before {
                        return Ok(());
                    }
                    screen.line("(Ctrl-C again ends the conversation)");
                    continue;
                }
                line = self.line("\n> ", false) => line?,
            };
            let Some(prompt) = line else {
                screen.line("");
                return Ok(());
            };
            keys.forget();
            match prompt.trim() {
                "" => continue,
                "exit" | "quit" => return Ok(()),
                _ => {}
            }
            let stop = async {
                keys.pressed(1).await;
                screen.line("(stopped; Ctrl-C again ends the conversation)");
            };
            let reply = tokio::select! {
                biased;
                () = keys.pressed(2) => return Ok(()),
                reply = session.send_until(prompt.trim(), stop) => reply,
            };
            match reply {
                Ok(reply) => {
                    screen.end_line();
                    // What the person does or sees anyway is not said again.
                    if !matches!(reply.stopped, Stopped::Done | Stopped::Suspended | Stopped::Denied) {
                        screen.line(&format!("(stopped: {})", one_line(&reply.stopped.to_string())));
                    }
                }
                Err(AgentError::Cancelled) if keys.is_pressed() => {}
                Err(AgentError::Cancelled) => return Ok(()),
                Err(error) => screen.line(&format!("! {}", one_line(&error.to_string()))),
            }
        }
    }
}

//! A server that is a program: its start, and its end.

use std::{io, process::Stdio, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::reading::ServerMessages;
use crate::mcp::lines::Lines;

/// The time that a program has to end after its input has ended, and again after the signal to end.
const TIME_TO_END: Duration = Duration::from_secs(3);

/// The signal that asks a process to end, on every Unix.
#[cfg(unix)]
const SIGTERM: i32 = 15;

/// A transport to a program, over its stdin and stdout. Dropping it kills the program.
pub struct Program {
    lines: Lines<ServerMessages, ChildStdout, ChildStdin>,
    process: Box<dyn ChildWrapper>,
}

impl Program {
    /// Starts a program.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut process = CommandWrap::from(command).spawn()?;
        let (stdout, stdin) = (process.stdout().take(), process.stdin().take());
        let (Some(stdout), Some(stdin)) = (stdout, stdin) else {
            return Err(io::Error::other("the program has no stdin or no stdout"));
        };
        Ok(Self { lines: Lines::new(ServerMessages::default(), stdout, stdin), process })
    }

    async fn ends(&mut self) -> bool {
        tokio::time::timeout(TIME_TO_END, self.process.wait()).await.is_ok()
    }
}

impl Transport<RoleClient> for Program {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.lines.receive()
    }

    /// Ends the program as MCP demands: its input ends, then it gets a signal, and then it is killed.
    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await?;
        if self.ends().await {
            return Ok(());
        }
        #[cfg(unix)]
        if self.process.signal(SIGTERM).is_ok() && self.ends().await {
            return Ok(());
        }
        Box::into_pin(self.process.kill()).await
    }
}

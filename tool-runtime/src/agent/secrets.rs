//! The secrets of callers, which a function of the application provides when a call starts.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Agent, Caller, caller::ask_application, calls::CallJournal};
use crate::tool::{CallError, Context, ErasedTool, Failure, Output, Question};
use crate::toolset::Prepared;

type Find = dyn Fn(Caller, String) -> BoxFuture<'static, Result<Secret, Failure>> + Send + Sync;

/// The application's function that provides secrets.
#[derive(Clone)]
pub struct SecretSource(Arc<Find>);

/// A secret of a caller for one start of a call, or the reason why there is none now. `Debug` does not show the secret.
#[derive(Clone)]
pub struct Secret(Found);

#[derive(Clone)]
enum Found {
    Value(String),
    Missing(Question),
}

impl Secret {
    /// Creates a secret from its text.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Found::Value(value.into()))
    }

    /// Creates the answer that no secret can be had now. `reason` says what a person has to do first, such as "Sign in to GitHub.", and
    /// `url` is the page for it. The reason is stored with the run, and the model reads it if the call is denied.
    pub fn missing(reason: impl Into<String>, url: Option<String>) -> Self {
        Self(Found::Missing(Question::need(reason, "secret", url)))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Found::Value(_) => out.write_str("Secret"),
            Found::Missing(question) => out.debug_tuple("Missing").field(question).finish(),
        }
    }
}

impl Agent {
    /// Sets a function that provides the secrets of callers, for parameters marked `#[arg(secret)]` whose secret is not in the context.
    /// A second function replaces the first.
    ///
    /// The function is asked each time such a call starts, after its approval, and before its tool begins. It receives the caller and the
    /// name of the parameter. Until then, approval predicates and other checks see an empty text in place of the secret, so the
    /// parameter's type must accept one; an optional secret is absent.
    ///
    /// - If a required secret is missing ([`Secret::missing`]), the call waits for a person, like a call that needs an approval. An approval
    ///   starts the call again, which asks the function again. A denial ends the call, and the model reads the reason.
    /// - The function fails if it returns an error, panics, or takes longer than ten seconds. The tool does not begin then, and the call
    ///   fails. Only the log has the error.
    ///
    /// ```
    /// use tool_runtime::{Agent, agent::Secret, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Counts the open issues.
    /// #[tool(effect = read_only)]
    /// fn count_issues(#[arg(secret)] github_token: String) -> usize {
    ///     github_token.len()
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let model = ScriptedModel::new([Turn::call("count_issues", "{}"), Turn::say("Five.")]);
    /// let agent = Agent::new(model).tools(toolset!(count_issues)).principal("ann").secrets(|caller, name| async move {
    ///     // An application asks its database here.
    ///     match (caller.principal.as_str(), name.as_str()) {
    ///         ("ann", "github_token") => Ok(Secret::new("gho_1")),
    ///         _ => Ok(Secret::missing("Sign in to GitHub.", Some("https://example.com/sign-in".to_owned()))),
    ///     }
    /// });
    /// assert_eq!(agent.run("How many?").await?.text, "Five.");
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn secrets<F, R>(mut self, find: F) -> Self
    where
        F: Fn(Caller, String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Secret, Failure>> + Send + 'static,
    {
        let find = move |caller, name| find(caller, name).boxed();
        self.setup_mut().secrets = Some(SecretSource(Arc::new(find)));
        self
    }

    /// Returns `cx` for a check. If a function provides secrets, those that the context lacks do not matter yet.
    pub(super) fn for_check(&self, cx: Context) -> Context {
        if self.setup.secrets.is_some() { cx.awaiting_secrets() } else { cx }
    }
}

/// A call whose tool reads the arguments again when the call starts.
pub struct Restart {
    pub tool: Arc<dyn ErasedTool>,
    pub arguments: Arc<str>,
    pub cx: Context,
    /// The time within which the tool must have read the arguments.
    pub limit: Duration,
}

impl Restart {
    /// Reads the arguments, and runs the call.
    pub async fn run(self) -> Result<Output, CallError> {
        self.read().await?.run().await
    }

    async fn read(&self) -> Result<Prepared, CallError> {
        let mut prepared = Prepared::new(Arc::clone(&self.tool), Arc::clone(&self.arguments), self.cx.clone());
        prepared.read_again(self.limit, tokio::time::sleep(self.limit)).await?;
        Ok(prepared)
    }
}

impl SecretSource {
    /// Runs a call with the secrets of `caller`. If one is missing, the call waits: its run drops this future.
    pub async fn run(self, mut call: Restart, caller: Caller, journal: Arc<CallJournal>) -> Result<Output, CallError> {
        let mut asked: Vec<String> = Vec::new();
        loop {
            call.cx = call.cx.awaiting_secrets();
            let prepared = call.read().await?;
            let wanted = call.cx.wanted_secrets().into_iter().find(|wanted| !asked.contains(&wanted.name));
            let Some(wanted) = wanted else {
                return prepared.run().await;
            };
            match self.find(caller.clone(), &wanted.name).await? {
                Found::Value(value) => {
                    call.cx = call.cx.with_secret(wanted.name.clone(), value);
                    // Also what the tool reads before it begins may fail with the secret in its text.
                    journal.hide_secrets(&call.cx);
                }
                Found::Missing(_) if wanted.is_optional => {}
                Found::Missing(question) => {
                    // The run answers only if the call cannot wait.
                    journal.wait_for(question).await?;
                    return Err(CallError::Cancelled);
                }
            }
            asked.push(wanted.name);
        }
    }

    async fn find(&self, caller: Caller, name: &str) -> Result<Found, CallError> {
        // The function may panic before it returns its future.
        let found = ask_application(async { self.0(caller, name.to_owned()).await }).await;
        found.map(|Secret(found)| found).map_err(|reason| {
            let failure = Failure::new("the tool did not begin, because something that it needs could not be had");
            failure.source(format_args!("no secret `{name}`: {reason}")).into()
        })
    }
}

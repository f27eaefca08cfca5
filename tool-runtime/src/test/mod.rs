//! Test doubles for agents, and assertions about their events. The doubles are models with a script or a recording, a person
//! who decides by rule, and a clock that tests advance.
//!
//! | item | for |
//! |---|---|
//! | [`ScriptedModel`], [`FunctionModel`] | turns from a list, or from a function of the request |
//! | [`EveryToolModel`] | calls every tool, with arguments made from the schemas |
//! | [`RecordingModel`], [`ReplayModel`], [`record_or_replay`] | the traffic of a real model, kept in a file and replayed |
//! | [`Person`] | approves, denies, edits, answers, executes; keeps the requests that it got |
//! | [`Events`] | the events of a run: [`Events::assert_order`], [`Events::of_call`] |
//! | [`Spans`] | the recorded spans, as a tree |
//! | [`Grammar`] | checks the order of events; [`Events::new`] uses it |
//! | [`TestClock`] | approvals, grants and leases that expire, without waiting |
//!
//! The module needs the feature `test-util`, for `[dev-dependencies]`:
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use std::time::Duration;
//! use tool_runtime::{Agent, agent::Suspend, model::{ScriptedModel, Turn}, run::Phase, store::MemoryStore};
//! use tool_runtime::{test::{TestClock, Events, Person}, tool, toolset};
//!
//! /// Pay money back.
//! #[tool(approval = always)]
//! async fn refund(/** In euros. */ amount: u32) -> String {
//!     format!("{amount} euros were paid back")
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let turns = || ScriptedModel::new([Turn::call("refund", r#"{"amount": 40}"#), Turn::say("Done.")]);
//!
//! // Somebody allows less.
//! let ann = Person::editing(|arguments| arguments["amount"] = 30.into());
//! let (agent, events) = (Agent::new(turns()).tools(toolset!(refund)), Events::new());
//! agent.observer(events.clone()).operator(ann.clone()).run("Refund 40 euros.").await?;
//! assert_eq!(ann.approvals()[0].arguments["amount"], 40);
//! events.of_tool("refund").assert_order(&["opened", "decided", r#"started call_1_0 refund {"amount":30}"#, "succeeded"]);
//!
//! // Nobody decides for two days.
//! let clock = TestClock::new();
//! let agent = Agent::new(turns()).tools(toolset!(refund)).operator(Suspend).store(MemoryStore::new()).clock(&clock);
//! let agent = agent.options(|options| options.approval_expiry = Some(Duration::from_hours(24)));
//! let mut session = agent.session();
//! assert_eq!(session.send("Refund 40 euros.").await?.phase, Phase::Suspended);
//! clock.advance(Duration::from_secs(2 * 24 * 60 * 60));
//! assert_eq!(agent.sweep().await?, 1);
//! # Ok::<(), tool_runtime::AgentError>(())
//! # }).unwrap();
//! # }
//! ```

mod events;
mod every_tool;
mod grammar;
mod person;
mod record;
mod spans;

pub use crate::agent::TestClock;
pub use crate::model::{FunctionModel, ScriptedModel};
pub use events::Events;
pub use every_tool::EveryToolModel;
pub use grammar::{Grammar, MisplacedEvent};
pub use person::Person;
pub use record::{RecordingModel, ReplayModel, record_or_replay};
pub use spans::{SpanTree, Spans};

//! One tool: its declaration, its typed input and output, and what it may know about a call.

pub(crate) mod binding;
mod cancel;
pub(crate) mod check;
mod code;
mod compiled;
mod context;
pub(crate) mod declare;
mod decode;
pub(crate) mod def;
mod describe;
mod diagnose;
pub(crate) mod dynamic;
mod exact;
pub(crate) mod executor;
pub(crate) mod expansion;
pub(crate) mod fallback;
pub(crate) mod field;
pub(crate) mod fitting;
pub(crate) mod hooks;
mod input;
pub(crate) mod journal;
mod measure;
mod output;
mod partial;
mod progress;
pub(crate) mod returned;
pub(crate) mod rule;
pub(crate) mod slots;
pub(crate) mod start;
mod streamed;
pub(crate) mod touches;
pub(crate) mod usual;
pub(crate) mod work;

pub use binding::{CallFuture, DynTool, Started, Starting};
pub use cancel::Cancellation;
pub use context::Context;
pub use declare::{Execute, ExecuteWith, Provide, Tool, WithState};
pub use decode::Refused;
pub use dynamic::{Choice, DynamicInput, IntoValidation, Validation};
pub use hooks::{HookFuture, InputHooks};
pub use input::{ToolAnswer, ToolInput, ToolSecret};
pub use journal::Journal;
pub use measure::{Measured, Ranged, Textual};
pub use output::{Content, Image, Shown, Text, ToolOutput};
pub use partial::Partial;
pub use progress::Progress;
pub use tool_run::tool::{Answer, Question, Resources, ToolError, Traits, Ui};
#[doc(no_inline)]
pub use tool_run::tool::{Approval, CallError, Effect, Failure, Output, ToolSpec};
pub use work::{Owned, State};

pub(crate) use binding::{Binding, Bound};
pub(crate) use def::Def;
#[cfg(feature = "agent")]
pub(crate) use describe::output as output_schema;
pub(crate) use diagnose::duplicate;
#[cfg(feature = "agent")]
pub(crate) use diagnose::{fitting, read_as};
pub(crate) use rule::Number;
pub(crate) use slots::Values;
pub(crate) use start::Start;
pub(crate) use streamed::streamed;
pub(crate) use tool_run::tool::Identity;
pub(crate) use touches::ResourcesOf;

use check::Limit;
use code::Code;
use decode::decode;
use def::{ReadAnswer, Union};
use executor::{Executing, ExecutingWith, Executor};
use field::{Field, Param, Tag, Typed};
use hooks::Hook;
use returned::{Kind, Plain, Returned};
use rule::{Format, Pattern, Rule, Unit};
use start::Begin;
use usual::Usual;
use work::Work;

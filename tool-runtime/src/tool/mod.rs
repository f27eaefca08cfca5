//! One tool: its declaration, its typed input and output, and what it may know about a call.

mod cancel;
mod context;
mod declare;
mod decode;
mod def;
mod describe;
mod diagnose;
mod exact;
pub(crate) mod expansion;
mod failure;
mod field;
mod fingerprint;
mod input;
mod outcome;
mod output;
mod part;
mod returned;
mod rule;
mod spec;

pub use cancel::Cancellation;
pub use context::{Context, Progress};
pub use declare::{Bind, Execute, ExecuteWith, Provide, Tool};
pub use decode::{Refused, decode};
pub use def::{Cache, Def, Options};
pub(crate) use diagnose::duplicate;
pub use failure::{Failure, ToolError};
pub use field::{AnyField, AnySlot, Field, Param, Slot};
pub use fingerprint::Fingerprint;
pub use input::ToolInput;
pub use outcome::CallError;
pub use output::{Content, Image, Output, Shown, Text, ToolOutput};
pub(crate) use part::Bound;
pub use part::{CallFuture, DynTool, Part, ReadAnswer, Start, Started};
pub use returned::{Answer, AnyKind, Fallible, Kind, Plain, Returned};
pub use rule::{Check, Format, Measured, Number, Pattern, Ranged, Rule, Textual, Unit};
pub use spec::{Approval, Effect, ToolSpec, Traits, Ui};

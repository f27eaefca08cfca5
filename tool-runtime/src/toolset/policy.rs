//! Who may call what: rules around the tools of a set, which can only tighten what the tools say themselves.

use std::sync::Arc;

use tool_run::tool::Permission;

use crate::tool::{CallError, Context, Started, ToolSpec};

/// A call that a policy looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Proposal<'a> {
    /// What is known about the tool.
    pub spec: &'a ToolSpec,
    /// The arguments: JSON that the tool accepted.
    pub arguments: &'a str,
    /// The call, on whose behalf, and the conversation so far.
    pub cx: &'a Context,
}

/// A rule about calls. It is asked before a call runs, and again before a call starts that had to wait. A panic in it
/// counts as [`Permission::Ask`].
///
/// Every `Fn(&Proposal) -> Permission` is a policy:
///
/// ```
/// use tool_runtime::{Effect, toolset::{Policy, Proposal, Permission}};
///
/// fn ask_before_destruction() -> impl Policy {
///     |call: &Proposal<'_>| match call.spec.traits.effect {
///         Effect::Destructive => Permission::Ask,
///         _ => Permission::Allow,
///     }
/// }
/// # let _ = ask_before_destruction();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no policy",
    label = "not a function of `&Proposal<'_>` that returns a `Permission`",
    note = "write `|call: &Proposal<'_>| Permission::Ask`, with the types; it is not async"
)]
pub trait Policy: Send + Sync + 'static {
    /// Judges a call.
    fn judge(&self, call: &Proposal<'_>) -> Permission;
}

#[diagnostic::do_not_recommend]
impl<F: Fn(&Proposal<'_>) -> Permission + Send + Sync + 'static> Policy for F {
    fn judge(&self, call: &Proposal<'_>) -> Permission {
        self(call)
    }
}

impl<P: Policy + ?Sized> Policy for Arc<P> {
    fn judge(&self, call: &Proposal<'_>) -> Permission {
        (**self).judge(call)
    }
}

/// What `policy` says; a panic in it asks.
pub(crate) fn judge(policy: &dyn Policy, call: &Proposal<'_>) -> Permission {
    super::prepared::contain(|| policy.judge(call)).unwrap_or(Permission::Ask)
}

/// Returns a call that `policy` lets through, maybe after an approval.
pub fn tighten<'a>(
    policy: &dyn Policy,
    mut started: Started<'a>,
    Proposal { spec, arguments, cx }: Proposal<'_>,
) -> Result<Started<'a>, CallError> {
    let arguments = started.normalized.as_deref().unwrap_or(arguments);
    match judge(policy, &Proposal { spec, arguments, cx }) {
        Permission::Allow => {}
        Permission::Ask => started.needs_approval = true,
        Permission::Deny { reason } => return Err(CallError::PolicyDenied { reason }),
    }
    Ok(started)
}

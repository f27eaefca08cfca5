//! Policies: rules about the calls of a toolset. They can only tighten what the tools themselves declare.

use tool_run::tool::Permission;

use crate::tool::{AcceptedCall, CallError, Context, ToolSpec};

/// A call for a policy to judge.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyCall<'a> {
    /// The tool's specification.
    pub spec: &'a ToolSpec,
    /// The arguments: JSON that the tool accepted.
    pub arguments: &'a str,
    /// The context of the call: its principal, and the conversation so far.
    pub cx: &'a Context,
}

/// A rule about calls. The gate asks an agent's policy before a call runs. If the call had to wait, the gate asks again before
/// the call starts. A toolset asks its own policy whenever it prepares a call, also without an agent. A panic in a policy
/// counts as [`Permission::Ask`].
///
/// Every `Fn(&PolicyCall) -> Permission` is a policy, and nothing else is, so that the compiler knows the type of a closure's
/// parameter:
///
/// ```
/// use tool_runtime::{Effect, toolset::{Policy, Permission}};
///
/// fn ask_before_destruction() -> impl Policy {
///     |call| match call.spec.options.effect {
///         Effect::Destructive => Permission::Ask,
///         _ => Permission::Allow,
///     }
/// }
/// # let _ = ask_before_destruction();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    label = "not a function of `&PolicyCall<'_>` that returns a `Permission`",
    note = "write `|call| Permission::Ask`; it is not async"
)]
pub trait Policy: Fn(&PolicyCall<'_>) -> Permission + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Fn(&PolicyCall<'_>) -> Permission + Send + Sync + 'static> Policy for F {}

/// Returns the permission that `policy` gives; a panic in it counts as [`Permission::Ask`].
pub(crate) fn ask_policy(policy: &dyn Policy, call: &PolicyCall<'_>) -> Permission {
    super::prepared::contain(|| policy(call)).unwrap_or(Permission::Ask)
}

/// Applies `policy` to a call: sets `needs_approval` if the policy asks, and fails if it denies.
pub fn tighten<'a>(
    policy: &dyn Policy,
    mut started: AcceptedCall<'a>,
    PolicyCall { spec, arguments, cx }: PolicyCall<'_>,
) -> Result<AcceptedCall<'a>, CallError> {
    let arguments = started.normalized.as_deref().unwrap_or(arguments);
    match ask_policy(policy, &PolicyCall { spec, arguments, cx }) {
        Permission::Allow => {}
        Permission::Ask => started.needs_approval = true,
        Permission::Deny { reason } => return Err(CallError::PolicyDenied { reason }),
    }
    Ok(started)
}

//! Looking at calls and decisions with the tools at hand.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::inside;
use super::inspection::{Accepted, Finding, Inspection, Ruling, View};
use super::reading::{Read, Reading, Refine, Taken};
use super::{
    ArgsRev, Author, Call, CallResult, Decision, Obligation, ObligationId, ObligationKind, Pattern, Principal,
    Question, Refusal, Run, Shown, Stage, ToolRef,
};
use crate::digest::Digest;
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::schema::Validator;
use crate::tool::{Context, DynTool, Identity, ToolSpec};
use crate::toolset::{Permission, Policy, Proposal, Toolset, judge};

/// A tool, and what a run goes by of it.
type Known<'a> = (&'a Ref, &'a Arc<dyn DynTool>);
/// The reference that a run keeps of a tool, and the identity by which records of any age know the tool.
type Ref = (Arc<ToolRef>, Identity);
type Offer = dyn Fn(&ToolSpec, &Value) -> Option<Pattern> + Send + Sync;
type Deciders = dyn Fn(&ToolSpec, &Value) -> Vec<Principal> + Send + Sync;

/// Looks at calls and decisions: with the tools' own decoders, validators and predicates, and with the policies of the
/// application. What it finds is the evidence that the run's state machine goes by.
#[derive(Clone)]
pub struct Inspector {
    tools: Toolset,
    policies: Vec<Arc<dyn Policy>>,
    offer: Option<Arc<Offer>>,
    deciders: Option<Arc<Deciders>>,
    refine: Arc<HashMap<String, Arc<Refine>>>,
    refs: Arc<[OnceLock<Ref>]>,
}

impl Inspector {
    /// An inspector without policies of its own.
    pub fn new(tools: Toolset) -> Self {
        let refs = tools.iter().map(|_| OnceLock::new()).collect();
        Self { tools, policies: Vec::new(), offer: None, deciders: None, refine: Arc::default(), refs }
    }

    /// Adds a policy. Policies can only tighten.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policies.push(policy);
        self
    }

    /// Whether it does more than to let tools read their arguments: it judges, or changes them.
    #[cfg(feature = "agent")]
    pub(crate) fn has_rules(&self) -> bool {
        self.has_policies() || !self.refine.is_empty()
    }

    /// Whether it has policies of its own.
    pub fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Sets which calls may be allowed for the rest of a run, and which are like one another.
    pub fn offer(mut self, offer: Arc<Offer>) -> Self {
        self.offer = Some(offer);
        self
    }

    /// Sets who may decide about a call in place of the run's owner, where anybody is named.
    pub fn deciders(mut self, deciders: Arc<Deciders>) -> Self {
        self.deciders = Some(deciders);
        self
    }

    /// Refines arguments of the tool `name` that it has accepted.
    #[cfg(feature = "agent")]
    pub(crate) fn refine(mut self, name: String, refine: Arc<Refine>) -> Self {
        Arc::make_mut(&mut self.refine).insert(name, refine);
        self
    }

    /// The same tools under the policies and with the offer and the deciders of `other`.
    pub fn rules_of(mut self, other: &Self) -> Self {
        self.policies = other.policies.clone();
        self.offer = other.offer.clone();
        self.deciders = other.deciders.clone();
        self.refine = Arc::clone(&other.refine);
        self
    }

    /// The tools.
    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    /// What a run goes by of the tool `name`.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolRef>> {
        Some(&self.known(name)?.0.0)
    }

    /// The same, and the tool itself.
    fn known(&self, name: &str) -> Option<Known<'_>> {
        let (at, tool) = self.tools.find(name)?;
        let spec = tool.spec();
        let known = || (Arc::new(ToolRef::new(spec, spec.fingerprint())), Identity::of(spec));
        Some((self.refs[at].get_or_init(known), tool))
    }

    /// Looks at a call of `run`: are its arguments accepted, and may it run? Waits for the validators of a tool that has some.
    pub async fn inspect(&self, run: &Run, call: &Call, cx: &Context) -> Inspection {
        let read = self.read(call, cx).done().await;
        self.judge(run, call, read, cx)
    }

    /// Lets the tool of a call read its arguments.
    pub(crate) fn read(&self, call: &Call, cx: &Context) -> Reading {
        let refined = |revision: &ArgsRev| revision.author == Author::Refinement;
        let is_new = call.stage() == Stage::Proposed && !call.revisions().iter().any(refined);
        let refine = self.refine.get(&call.name).filter(|_| is_new && !refined(call.arguments()));
        let text = &call.arguments().text;
        if call.is_revised() {
            return Reading::refined(&self.tools, &call.name, text, &cx.clone().revised(), refine);
        }
        Reading::refined(&self.tools, &call.name, text, cx, refine)
    }

    /// Looks at a call whose arguments were read.
    pub(crate) fn judge(&self, run: &Run, call: &Call, read: Read, cx: &Context) -> Inspection {
        let digest = if Arc::ptr_eq(&read.text, &call.arguments().text) {
            call.arguments().digest
        } else {
            Digest::of(read.text.as_bytes())
        };
        self.look(run, call, read, digest, cx)
    }

    /// Checks a decision about an obligation of `run`, as far as the tool can tell: edited arguments, an output, an answer.
    /// Waits for the validators of a tool that has some.
    ///
    /// Fails when they are wrong, with feedback for the person. Whether the decision may be taken at all, the run says.
    pub async fn rule(
        &self,
        run: &Run,
        obligation: &ObligationId,
        decision: Decision,
        cx: &Context,
    ) -> Result<Ruling, Refusal> {
        let call = run.call(&obligation.call);
        let read = match call.and_then(|call| self.read_edit(&call.name, call.obligation()?, &decision, cx)) {
            Some(reading) => Some(reading.done().await),
            None => None,
        };
        self.rule_read(run, obligation, decision, read, cx)
    }

    /// Lets the tool of a call read the arguments that a decision gives it, if it gives any.
    pub(crate) fn read_edit(
        &self,
        name: &str,
        open: &Obligation,
        decision: &Decision,
        cx: &Context,
    ) -> Option<Reading> {
        let Decision::Edit { arguments } = decision else { return None };
        let arguments = arguments.to_string().into();
        if matches!(open.kind, ObligationKind::Inner { .. }) {
            let tool = open.tool(&self.tools, name)?;
            let own = Toolset::of(vec![Arc::clone(tool)]).ok()?;
            return Some(Reading::begin(&own, tool.name(), &arguments, cx));
        }
        Some(Reading::begin(&self.tools, name, &arguments, cx))
    }

    /// Checks a decision; `read` is what the tool says of edited arguments.
    pub(crate) fn rule_read(
        &self,
        run: &Run,
        obligation: &ObligationId,
        decision: Decision,
        read: Option<Read>,
        cx: &Context,
    ) -> Result<Ruling, Refusal> {
        let (mut inspection, mut output) = (None, None);
        let call = run.call(&obligation.call);
        if let (Some(open), Some(call)) = (run.obligation(obligation), call) {
            match &decision {
                decision if matches!(open.kind, ObligationKind::Inner { .. }) => {
                    inside::judge(open, open.tool(&self.tools, &call.name), decision, read)?;
                }
                Decision::Edit { .. } => {
                    inspection = read.map(|read| {
                        let digest = Digest::of(read.text.as_bytes());
                        self.look(run, call, read, digest, cx)
                    });
                }
                Decision::Respond { output: given } => {
                    output = Some(inside::output_of(&self.tools, &call.name, given)?);
                }
                Decision::Answer { value } => {
                    if let ObligationKind::Answer { question } = &open.kind {
                        fits(question, value).map_err(|feedback| Refusal::Invalid { feedback })?;
                    }
                }
                _ => {}
            }
        }
        Ok(Ruling { obligation: obligation.clone(), decision, inspection, output })
    }

    fn look(&self, run: &Run, call: &Call, read: Read, digest: Digest, cx: &Context) -> Inspection {
        let Read { text, outcome } = read;
        let known = self.known(&call.name);
        let tool = known.map(|((_, identity), _)| *identity);
        let (mut normalized, author, finding) = match outcome {
            Ok(taken) => {
                let arguments = taken.normalized.as_deref().unwrap_or(&text);
                let finding = self.find(run, known, arguments, &taken, cx);
                (taken.normalized, taken.author, finding)
            }
            Err(error) => (None, Author::Validators, Finding::Ended(CallResult::refused(error))),
        };
        normalized = normalized.filter(|_| matches!(finding, Finding::Accepted(_)));
        Inspection { call: call.id.clone(), text, arguments: digest, normalized, author, tool, finding }
    }

    fn find(&self, run: &Run, known: Option<Known<'_>>, arguments: &str, taken: &Taken, cx: &Context) -> Finding {
        let Some(((tool, _), known)) = known else {
            return Finding::Ended(CallResult::NotAvailable { suggestion: None });
        };
        let mut permission = if taken.needs_approval { Permission::Ask } else { Permission::Allow };
        let spec = known.spec();
        for policy in &self.policies {
            permission = permission.and(judge(&**policy, &Proposal { spec, arguments, cx }));
        }
        permission = run.tighten(tool, permission);
        let mut view = None;
        if permission == Permission::Ask || tool.external {
            match Shown::new(spec, arguments, &run.taint).and_then(|shown| Ok((shown, spec.written(arguments)?))) {
                Ok((shown, written)) => {
                    let offer = self.offer.as_ref().and_then(|offer| offer(spec, &shown.arguments));
                    // A pattern that does not even cover this call would be asked about again and again.
                    let offer = offer.filter(|pattern| pattern.covers(&written));
                    let deciders = self.deciders.as_ref().map(|deciders| deciders(spec, &shown.arguments));
                    view = Some(Box::new(View { shown, written, offer, deciders: deciders.unwrap_or_default() }));
                }
                Err(feedback) => return Finding::Ended(CallResult::Rejected { feedback }),
            }
        }
        Finding::Accepted(Accepted { tool: Arc::clone(tool), permission, touches: taken.touches.clone(), view })
    }
}

pub(super) fn check_output(tool: &Arc<dyn DynTool>, given: &Value) -> Result<(), Rejection> {
    let Some(schema) = &tool.spec().output else { return Ok(()) };
    let Ok(validator) = Validator::compile(schema.neutral()) else { return Ok(()) };
    check(&validator, given)
}

pub(super) fn fits(question: &Question, value: &Value) -> Result<(), Rejection> {
    let Some(schema) = &question.schema else { return Ok(()) };
    check(&Validator::compile(schema).map_err(|error| invalid(error.to_string()))?, value)
}

fn check(validator: &Validator, value: &Value) -> Result<(), Rejection> {
    let problems = validator.problems(value, "");
    if problems.is_empty() { Ok(()) } else { Err(Rejection::new(problems)) }
}

pub(super) fn invalid(reason: impl Into<String>) -> Rejection {
    Rejection::one(Problem::new("", ProblemKind::Invalid, reason))
}

impl fmt::Debug for Inspector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Inspector")
            .field("tools", &self.tools)
            .field("policies", &self.policies.len())
            .finish_non_exhaustive()
    }
}

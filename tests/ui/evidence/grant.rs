use tool_runtime::run::{CallId, Grant, GrantedBy};
use tool_run::run::Digest;
use tool_run::tool::Fingerprint;

fn forge(call: CallId, tool: Fingerprint, arguments: Digest) -> Grant {
    Grant { run: "run".into(), call, tool, arguments, by: GrantedBy::Policy, expires: None }
}

fn main() {}

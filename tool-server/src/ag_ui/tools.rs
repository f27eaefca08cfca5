//! The tools of a request: the application's, and those that the client brings.

use crate::protocol::ag_ui::{Check, ClientTools, RunInput};
use axum::http::StatusCode;
use tool_runtime::{
    Agent, Toolset,
    run::{ObligationKind, Run},
};

use crate::host::ApiError;

pub(super) struct Tools {
    /// The application's and the client's.
    pub(super) all: Toolset,
    pub(super) of_client: ClientTools,
    pub(super) warnings: Vec<String>,
}

impl Tools {
    pub(super) fn new(agent: &Agent, input: &RunInput, check: Check) -> Result<Self, ApiError> {
        let refused = |error: crate::protocol::ag_ui::ClientToolError| {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "tools", format!("tools: {error}"))
        };
        let of_client = ClientTools::new(&input.tools, check).map_err(refused)?;
        let (of_client, shadowing) = of_client.without(agent.toolset());
        let all = of_client.join(agent.toolset());
        let mut warnings = of_client.warnings().to_vec();
        for name in shadowing {
            // Of what is declared here and executed there, the declaration here counts. Anything else is a mistake, or worse.
            if !agent.toolset().get(&name).is_some_and(|own| own.spec().traits.external) {
                let message =
                    format!("tools: the server has a tool `{name}` of its own; rename the client's, or leave it out");
                return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "tools", message));
            }
            warnings.push(format!("the server declares `{name}` itself; the client's schema is left out"));
        }
        Ok(Self { all, of_client, warnings })
    }

    /// The tools with which results are taken: those of calls that wait are among them, even where the client does not bring
    /// them any more.
    pub(super) fn for_answers(&self, run: &Run) -> Toolset {
        let open = run.obligations().filter(|open| matches!(open.kind, ObligationKind::External));
        let names = open.filter_map(|open| Some(run.call(open.id.call())?.name.clone()));
        let gone: Vec<_> = names.filter(|name| self.all.get(name).is_none()).collect();
        if gone.is_empty() {
            return self.all.clone();
        }
        let gone = ClientTools::placeholders(&gone);
        gone.join(&self.all)
    }
}

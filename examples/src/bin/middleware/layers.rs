//! The tool and the layers around it. The recorded cases of `tests/src/bin/vectors` include this file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{
    Agent, CallFuture, Failure, Rejection,
    layer::{ProblemReports, SecretFilter},
    model::Model,
    tool,
    tool::ErasedTool,
    toolset,
    toolset::{Invocation, Layer, Next},
};

/// Results of the search.
#[derive(Serialize, JsonSchema)]
struct Found {
    results: Vec<String>,
}

/// Search for something. It returns the query, read backwards.
#[tool(effect = read_only)]
fn search(
    /** The query. */
    query: String,
) -> Found {
    Found { results: vec![format!("Query reversed: {}", query.chars().rev().collect::<String>())] }
}

/// Returns the search in three layers, from the inside: against evil queries, against secrets, and for failures as problems.
pub fn filtered(judge: impl Model + 'static) -> Arc<dyn ErasedTool> {
    let chain = EvilFilter { judge: Agent::new(judge) }
        .pipe(SecretFilter::new(["secret1", "password1"]))
        .pipe(ProblemReports::new());
    let tools = toolset!(search);
    Arc::new(chain).apply(Arc::clone(tools.get("search").unwrap_or_else(|| unreachable!("it was just put in"))))
}

/// A layer that rejects a query if a model calls it evil. If the model cannot judge the query, the call fails.
struct EvilFilter {
    judge: Agent,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Judgement {
    is_evil: bool,
}

#[derive(Deserialize)]
struct Asked {
    query: String,
}

impl Layer for EvilFilter {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let Asked { query } = serde_json::from_str(call.arguments).map_err(Failure::from)?;
            let question = format!("Is the object or notion \"{query}\" considered evil?");
            let asked = self.judge.ask(question).typed().await;
            let judged = asked.map_err(|error| Failure::new("the query could not be judged").source(error))?;
            let Judgement { is_evil } = judged.value;
            if is_evil {
                return Err(Rejection::of("query", "the query you provided is evil which is not allowed").into());
            }
            next.run().await
        })
    }
}

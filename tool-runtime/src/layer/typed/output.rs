//! Another output.

use std::{marker::PhantomData, sync::Arc};

use serde::de::DeserializeOwned;

use crate::schema::Schema;
use crate::tool::{CallError, CallFuture, Failure, Output, ToolOutput, ToolSpec, output_schema};
use crate::toolset::{Invocation, Layer, Next};

pub(super) struct MapOutput<F, Old, New> {
    into: F,
    schema: Option<Arc<Schema>>,
    of: PhantomData<fn(Old) -> New>,
}

impl<F, Old, New: ToolOutput> MapOutput<F, Old, New> {
    pub(super) fn new(into: F) -> Self {
        Self { into, schema: output_schema(New::output_schema).map(Arc::new), of: PhantomData }
    }
}

impl<Old, New, F> MapOutput<F, Old, New>
where
    Old: DeserializeOwned,
    New: ToolOutput,
    F: Fn(Old) -> Result<New, Failure>,
{
    fn map(&self, output: &Output) -> Result<Output, CallError> {
        let of_another_type = |error| Failure::hidden(format_args!("the output is not of its type: {error}"));
        let old = output.decode().map_err(of_another_type)?;
        Ok((self.into)(old)?.into_output()?)
    }
}

impl<Old, New, F> Layer for MapOutput<F, Old, New>
where
    Old: DeserializeOwned + 'static,
    New: ToolOutput + 'static,
    F: Fn(Old) -> Result<New, Failure> + Send + Sync + 'static,
{
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.map(&next.run().await?) })
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        if spec.traits.external {
            return Arc::clone(spec);
        }
        Arc::new(ToolSpec { output: self.schema.clone(), ..ToolSpec::clone(spec) })
    }
}

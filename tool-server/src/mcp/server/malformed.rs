//! Requests whose method is known and whose parameters are not those of the method. rmcp takes them for requests of somebody
//! else's protocol; by its answer a client would think that there are no such methods.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CancelTaskMethod, CancelTaskParams, ConstString as _,
        CustomRequest, ErrorCode, GetTaskMethod, GetTaskParams, UpdateTaskMethod, UpdateTaskParams,
    },
};
use serde::de::DeserializeOwned;

/// Why a request is refused that rmcp does not know.
pub(super) fn refused(request: &CustomRequest, has_tasks: bool) -> ErrorData {
    let reason = match request.method.as_str() {
        CallToolRequestMethod::VALUE => reason::<CallToolRequestParams>(request),
        GetTaskMethod::VALUE if has_tasks => reason::<GetTaskParams>(request),
        UpdateTaskMethod::VALUE if has_tasks => reason::<UpdateTaskParams>(request),
        CancelTaskMethod::VALUE if has_tasks => reason::<CancelTaskParams>(request),
        method => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None),
    };
    ErrorData::invalid_params(format!("the parameters of `{}` are malformed: {reason}", request.method), None)
}

/// What is wrong with parameters that are to be a `T`.
fn reason<T: DeserializeOwned>(request: &CustomRequest) -> String {
    match request.params_as::<T>() {
        Err(error) => error.to_string(),
        Ok(None) => "there are none".to_owned(),
        Ok(Some(_)) => "its `_meta` is not of the protocol".to_owned(),
    }
}

//! The lines of the log for the server's operator: a line of the log for each request that the server could not answer, and a hint
//! if nobody listens to the log.
//!
//! The runtime writes the lines about models, tools and runs. A line never contains a body.

use std::{error::Error, sync::Once};

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use tool_runtime::feedback::one_line;
use tool_schema::feedback::{describe_error, excerpt};
use tracing::{debug, error, warn};

/// The target of the lines.
const TARGET: &str = "tool_server";

/// The maximum length of a cause, in characters.
const MAX_CAUSE: usize = 500;

/// The cause of an error response, which the client does not receive. It is among the response's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause(pub String);

impl Cause {
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let text = describe_error(error);
        Self(excerpt(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_CAUSE))
    }
}

/// Writes a line for each response whose status is an error of the server, and at the level `DEBUG` for each refused request.
pub async fn report_response(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    // The path itself would repeat ids that clients choose.
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    let (status, path) = (response.status().as_u16(), path.unwrap_or_default());
    let cause = response.extensions().get().map_or("the response has the reason", |Cause(cause)| cause);
    match status {
        500 => error!(target: TARGET, { status }, "{method} {path} failed: {cause}"),
        501.. => warn!(target: TARGET, { status }, "{method} {path} failed: {cause}"),
        400.. => debug!(target: TARGET, { status }, "{method} {path} was refused"),
        _ => {}
    }
    response
}

/// Writes a line about something that failed outside of a run and of a response.
pub fn report_error(what: &str, error: &(dyn Error + 'static)) {
    let Cause(cause) = Cause::of(error);
    warn!(target: TARGET, "{}: {cause}", one_line(what));
}

/// The line that shows the log.
pub const SHOW_LOG: &str = "tracing_subscriber::fmt::init();";

/// The line that shows the log of a program whose standard output belongs to a protocol.
#[cfg(feature = "mcp")]
pub const SHOW_LOG_ON_STDERR: &str = "tracing_subscriber::fmt().with_writer(std::io::stderr).init();";

/// Says once on standard error that nobody listens to the log, if the program has no subscriber of `tracing`. `line` shows the log.
#[allow(clippy::print_stderr, reason = "without a subscriber, nobody would see a line of the log")]
pub fn warn_if_unheard(line: &str) {
    static WARNED: Once = Once::new();
    if !tracing::dispatcher::has_been_set() {
        WARNED.call_once(|| {
            eprintln!(
                "tool-server: nobody listens to the log, so it cannot say why a model or a tool fails: begin `main` with \
                 `{line}`, of the crate `tracing-subscriber`"
            );
        });
    }
}
